// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/program_writer.h"

#include <cmath>

namespace ringscope::traces {
namespace {

using Op = Program::Op;
constexpr std::uint32_t kNone = Program::kNone;

std::uint32_t addEvent(Program::Rank& rank, const Program::Happening& event) {
  rank.events.push_back(event);
  return static_cast<std::uint32_t>(rank.events.size() - 1);
}

}  // namespace

ProgramWriter::ProgramWriter(const RunSpec& run, const DeviceSpeed& device,
                             std::vector<RankWork>* work)
    : recompute_(run.recompute), device_(device), work_(work) {
  program_.ranks.resize(static_cast<std::size_t>(run.cp));
  if (work_) work_->resize(program_.ranks.size());
}

void ProgramWriter::work(EventKind kind, const Place& place, const StageWork& work) {
  for (std::size_t r = 0; r < rankCount(); ++r) workOn(r, kind, place, work, WorldRank::none());
}

void ProgramWriter::workOn(std::size_t r, EventKind kind, const Place& place, const StageWork& work,
                           WorldRank source) {
  const Stage stage{kind, place.direction};
  if (work_) {
    const auto [sum, added] = (*work_)[r].try_emplace(stage, work);
    if (!added) sum->second += work;
  }
  Program::Rank& rank = program_.ranks[r];
  const auto event = addEvent(rank, {place, 0, source, WorldRank::none(), kind, Payload::kNone});
  Op op{std::llround(device_.seconds(stage, work) * 1e9), kNone, event, Op::Kind::kWork};
  op.kernels = static_cast<float>(stageKernels(kind, place.direction, recompute_));
  if (device_.measured.empty())
    op.memory_share = static_cast<float>(device_.memoryShare(stage, work));
  rank.ops.push_back(op);
}

ProgramWriter::Posted ProgramWriter::post(
    const Place& place, Payload payload, std::int64_t bytes,
    const std::function<std::vector<GroupRank>(GroupRank)>& receivers) {
  const auto exchange = static_cast<std::uint32_t>(program_.ranks.front().exchanges.size());
  std::vector<std::vector<std::uint32_t>> posted(rankCount());
  for (std::size_t r = 0; r < rankCount(); ++r)
    for (const GroupRank to : receivers(GroupRank::of(r))) {
      const auto m = static_cast<std::uint32_t>(program_.messages.size());
      program_.messages.push_back(
          {bytes, WorldRank::of(r), WorldRank::of(to.value()), exchange, exchange, kNone, kNone});
      posted[r].push_back(m);
      posted[to.index()].push_back(m);
    }
  for (std::size_t r = 0; r < rankCount(); ++r) {
    Program::Rank& rank = program_.ranks[r];
    rank.exchanges.push_back({static_cast<std::uint32_t>(rank.posted.size()),
                              static_cast<std::uint32_t>(posted[r].size())});
    rank.posted.insert(rank.posted.end(), posted[r].begin(), posted[r].end());
    rank.ops.push_back({0, exchange, kNone, Op::Kind::kPost});
  }
  return {exchange, place, payload};
}

void ProgramWriter::wait(const Posted& posted) {
  for (std::size_t r = 0; r < rankCount(); ++r) {
    Program::Rank& rank = program_.ranks[r];
    const auto event = addEvent(rank, {posted.place, 0, {}, {}, EventKind::kWait, posted.payload});
    rank.ops.push_back({0, posted.exchange, event, Op::Kind::kWait});
    const Program::Exchange exchange = rank.exchanges[posted.exchange];
    for (std::uint32_t i = 0; i < exchange.count; ++i) {
      Program::Message& message = program_.messages[rank.posted[exchange.first + i]];
      const bool sends = message.from.index() == r;
      (sends ? message.send_event : message.receive_event) =
          addEvent(rank, {posted.place,
                          message.bytes,
                          {},
                          sends ? message.to : message.from,
                          sends ? EventKind::kSend : EventKind::kReceive,
                          posted.payload});
    }
  }
}

void ProgramWriter::allReduce(const Place& place, Payload payload, std::int64_t bytes,
                              std::int32_t among, GroupAxis axis, bool together) {
  if (among < 2) return;
  auto& collectives = program_.collectives;
  for (Program::Rank& rank : program_.ranks) {
    if (!together || &rank == &program_.ranks.front())
      collectives.push_back(
          {bytes, among, together ? static_cast<std::int32_t>(rankCount()) : 1, axis});
    const auto event = addEvent(rank, {place, bytes, {}, {}, EventKind::kCollective, payload});
    rank.ops.push_back(
        {0, static_cast<std::uint32_t>(collectives.size() - 1), event, Op::Kind::kCollective});
  }
}

}  // namespace ringscope::traces
