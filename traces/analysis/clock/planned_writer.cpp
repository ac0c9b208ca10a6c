// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/planned_writer.h"

#include <cmath>

#include "traces/analysis/clock/stage_kernels.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;
constexpr std::uint32_t kNone = Program::kNone;

/// Appends what is drawn, and gives its index.
std::uint32_t draw(Program::Rank& rank, const Program::Happening& happening) {
  rank.events.push_back(happening);
  return static_cast<std::uint32_t>(rank.events.size() - 1);
}

}  // namespace

ProgramWriter::ProgramWriter(const RunSpec& run, const DeviceSpeed& device,
                             std::vector<std::vector<PlannedStage>>* stages)
    : run_(run), device_(device), stages_(stages) {
  program_.ranks.resize(static_cast<std::size_t>(run.cp));
  if (stages_) stages_->resize(program_.ranks.size());
}

void ProgramWriter::beginStep() {
  if (!device_.measured) return;
  const std::int64_t ns = std::llround(device_.measured->between.per_step * 1e9);
  for (Program::Rank& rank : program_.ranks)
    rank.ops.push_back({ns, kNone, kNone, Op::Kind::kWork});
}

void ProgramWriter::work(EventKind kind, const Place& place, const StageWork& work) {
  for (int r = 0; r < ranks(); ++r) workOf(WorldRank::of(r), kind, place, work, WorldRank::none());
}

void ProgramWriter::workOf(WorldRank who, EventKind kind, const Place& place, const StageWork& work,
                           WorldRank source) {
  if (stages_) (*stages_)[who.index()].push_back({kind, place.direction, work});
  Program::Rank& rank = program_.ranks[who.index()];
  const auto event = draw(rank, {place, 0, source, WorldRank::none(), kind, Payload::kNone});
  Op op{std::llround(work.seconds(device_, kind, place.direction) * 1e9), kNone, event,
        Op::Kind::kWork};
  op.kernels =
      static_cast<float>(stageKernels(kind, place.direction, run_.recompute) * work.events);
  if (!device_.measured) op.memory_share = static_cast<float>(work.memoryShare(device_));
  rank.ops.push_back(op);
}

/// Half of the messages are the rank's own.
std::int64_t ProgramWriter::postingNs(Payload payload, std::int64_t bytes,
                                      std::size_t messages) const {
  const double sent = static_cast<double>(bytes) * static_cast<double>(messages) / 2;
  const BetweenCost& between = device_.measured->between;
  const double packing = between.ofPacking(packingOf(payload, run_)) * sent;
  return std::llround((between.per_exchange + packing) * 1e9);
}

ProgramWriter::Posted ProgramWriter::post(const Place& place, Payload payload, std::int64_t bytes,
                                          const Receivers& receivers) {
  const auto exchange = static_cast<std::uint32_t>(program_.ranks.front().exchanges.size());
  std::vector<std::vector<std::uint32_t>> posted(program_.ranks.size());
  for (int r = 0; r < ranks(); ++r)
    for (const int to : receivers(r)) {
      const auto m = static_cast<std::uint32_t>(program_.messages.size());
      program_.messages.push_back(
          {bytes, WorldRank::of(r), WorldRank::of(to), exchange, exchange, kNone, kNone});
      posted[static_cast<std::size_t>(r)].push_back(m);
      posted[static_cast<std::size_t>(to)].push_back(m);
    }
  for (std::size_t r = 0; r < posted.size(); ++r) {
    Program::Rank& rank = program_.ranks[r];
    rank.exchanges.push_back({static_cast<std::uint32_t>(rank.posted.size()),
                              static_cast<std::uint32_t>(posted[r].size())});
    rank.posted.insert(rank.posted.end(), posted[r].begin(), posted[r].end());
    if (device_.measured && !posted[r].empty())
      rank.ops.push_back(
          {postingNs(payload, bytes, posted[r].size()), kNone, kNone, Op::Kind::kWork});
    rank.ops.push_back({0, exchange, kNone, Op::Kind::kPost});
  }
  return {exchange, place, payload};
}

void ProgramWriter::wait(const Posted& posted) {
  for (int r = 0; r < ranks(); ++r) {
    Program::Rank& rank = program_.ranks[static_cast<std::size_t>(r)];
    const auto event = draw(rank, {posted.place, 0, {}, {}, EventKind::kWait, posted.payload});
    rank.ops.push_back({0, posted.exchange, event, Op::Kind::kWait});
    drawMessages(WorldRank::of(r), posted);
  }
}

void ProgramWriter::drawMessages(WorldRank who, const Posted& posted) {
  Program::Rank& rank = program_.ranks[who.index()];
  const Program::Exchange exchange = rank.exchanges[posted.exchange];
  for (std::uint32_t i = 0; i < exchange.count; ++i) {
    Program::Message& message = program_.messages[rank.posted[exchange.first + i]];
    const bool sends = message.from == who;
    const WorldRank peer = sends ? message.to : message.from;
    const EventKind kind = sends ? EventKind::kSend : EventKind::kReceive;
    (sends ? message.send_event : message.receive_event) =
        draw(rank, {posted.place, message.bytes, {}, peer, kind, posted.payload});
  }
}

void ProgramWriter::allReduce(const Place& place, Payload payload, std::int64_t bytes,
                              std::int32_t among, GroupAxis axis, bool together) {
  if (among < 2) return;
  for (Program::Rank& rank : program_.ranks) {
    if (!together || &rank == &program_.ranks.front())
      program_.collectives.push_back({bytes, among, together ? ranks() : 1, axis});
    const auto event = draw(rank, {place, bytes, {}, {}, EventKind::kCollective, payload});
    const auto subject = static_cast<std::uint32_t>(program_.collectives.size() - 1);
    rank.ops.push_back({0, subject, event, Op::Kind::kCollective});
  }
}

}  // namespace ringscope::traces
