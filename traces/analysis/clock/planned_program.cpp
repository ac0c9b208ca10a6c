// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/planned_program.h"

#include <cmath>
#include <functional>
#include <limits>

#include "traces/format/core/error.h"
#include "traces/plan/attended_pairs.h"
#include "traces/plan/layer_plan.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

using Op = Program::Op;
constexpr std::uint32_t kNone = Program::kNone;
constexpr auto kForward = Direction::kForward, kBackward = Direction::kBackward;

std::uint32_t addEvent(Program::Rank& rank, const Program::Happening& event) {
  rank.events.push_back(event);
  return static_cast<std::uint32_t>(rank.events.size() - 1);
}

/// Writes a program in which all ranks do the same ops in the same order.
class ProgramWriter {
 public:
  /// `work`: where the work of each rank is summed; null: nowhere.
  ProgramWriter(const RunSpec& run, const DeviceSpeed& device, std::vector<RankWork>* work)
      : recompute_(run.recompute), device_(device), work_(work) {
    program_.ranks.resize(static_cast<std::size_t>(run.cp));
    if (work_) work_->resize(program_.ranks.size());
  }

  std::size_t rankCount() const { return program_.ranks.size(); }

  void work(EventKind kind, const Place& place, const StageWork& work) {
    for (std::size_t r = 0; r < rankCount(); ++r) workOn(r, kind, place, work, WorldRank::none());
  }

  /// Adds work of one rank; `source` owns the block.
  void workOn(std::size_t r, EventKind kind, const Place& place, const StageWork& work,
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

  struct Posted {
    std::uint32_t exchange = kNone;  ///< the same number on all ranks
    Place place;
    Payload payload = Payload::kNone;
  };

  /// Each rank posts a message of `bytes` to each of its receivers.
  Posted post(const Place& place, Payload payload, std::int64_t bytes,
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

  void wait(const Posted& posted) {
    for (std::size_t r = 0; r < rankCount(); ++r) {
      Program::Rank& rank = program_.ranks[r];
      const auto event =
          addEvent(rank, {posted.place, 0, {}, {}, EventKind::kWait, posted.payload});
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

  /// Adds an all-reduce over `among` ranks. `together`: all ranks here are members of one
  /// collective; otherwise each is a member of its own.
  void allReduce(const Place& place, Payload payload, std::int64_t bytes, std::int32_t among,
                 GroupAxis axis, bool together) {
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

  Program take() { return std::move(program_); }

 private:
  const bool recompute_;
  const DeviceSpeed& device_;
  Program program_;
  std::vector<RankWork>* const work_;
};

/// Plans the stages of a step in the order of engine/attention/strategies/README.md.
class Planner {
 public:
  Planner(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
          std::vector<RankWork>* work)
      : run_(run),
        layers_(sizes.layers),
        sizes_(run, sizes),
        plan_(run),
        pairs_(joinedPairs(attendedPairs(run), plan_.ulysses())),
        writer_(run, device, work) {
    for (const Direction direction : {kForward, kBackward})
      actions_[direction] = plan_.actions(direction);
  }

  Program plan() {
    const Place begin{0, {}, kForward, {}}, end{0, {}, kBackward, {}};
    writer_.work(EventKind::kEmbed, begin, sizes_.embed(kForward));
    reduceActivations(begin, 1);
    for (std::int64_t l = 0; l < layers_; ++l) forward(Layer::of(l));
    writer_.work(EventKind::kLoss, begin, sizes_.loss(kForward));
    // The vocabulary is cut: each token's log-sum-exp of all tp ranks, and its target's score.
    reduceTp(begin, run_.tp * sizes_.tokenSumBytes());
    reduceTp(begin, sizes_.tokenSumBytes());
    writer_.work(EventKind::kLoss, end, sizes_.loss(kBackward));
    reduceActivations(end, 1);
    for (std::int64_t l = layers_ - 1; l >= 0; --l) backward(Layer::of(l));
    writer_.work(EventKind::kEmbed, end, sizes_.embed(kBackward));
    writer_.work(EventKind::kGradSync, end, sizes_.gradSync());
    writer_.allReduce(end, Payload::kGrads, sizes_.gradientBytes(), run_.dp * run_.cp,
                      GroupAxis::kDpCp, true);
    writer_.work(EventKind::kClip, end, sizes_.clip());
    writer_.work(EventKind::kOptimizer, end, sizes_.optimizer());
    return writer_.take();
  }

 private:
  void reduceTp(const Place& place, std::int64_t bytes) {
    writer_.allReduce(place, Payload::kActivations, bytes, run_.tp, GroupAxis::kTp, false);
  }
  void reduceActivations(const Place& place, int times) {
    for (int i = 0; i < times; ++i) reduceTp(place, sizes_.activationBytes());
  }

  void forward(Layer layer) {
    const Place place{0, layer, kForward, {}};
    writer_.work(EventKind::kProject, place, sizes_.project(kForward));
    attention(layer, kForward);
    writer_.work(EventKind::kFeedForward, place, sizes_.feedForward(kForward));
    reduceActivations(place, 2);
  }

  void backward(Layer layer) {
    const Place place{0, layer, kBackward, {}};
    writer_.work(EventKind::kFeedForward, place, sizes_.feedForward(kBackward));
    reduceActivations(place, run_.recompute ? 3 : 1);
    attention(layer, kBackward);
    writer_.work(EventKind::kProject, place, sizes_.project(kBackward));
    reduceActivations(place, 1);
  }

  void attention(Layer layer, Direction direction) {
    std::vector<bool> holds_result(writer_.rankCount(), false);
    std::map<Cargo, ProgramWriter::Posted> posted;
    for (const LayerAction& action : actions_[direction]) {
      const Place place{0, layer, direction, action.ring_step};
      switch (action.kind) {
        case LayerAction::Kind::kPost:
          posted[action.cargo] =
              writer_.post(place, payload(action.cargo), sizes_.messageBytes(action.cargo),
                           [&](GroupRank rank) { return plan_.receivers(rank, action.receivers); });
          break;
        case LayerAction::Kind::kWait:
          writer_.wait(posted[action.cargo]);
          break;
        case LayerAction::Kind::kAttend:
          attend(place, action.count, holds_result);
          break;
        case LayerAction::Kind::kMergeGradients:
          writer_.work(EventKind::kMerge, place, sizes_.mergeGradients(action.count));
      }
    }
  }

  static Payload payload(Cargo cargo) {
    if (cargo == Cargo::kKv) return Payload::kKv;
    return cargo == Cargo::kDkv ? Payload::kDkv : Payload::kHeads;
  }

  /// Attends the n-th block of each rank. A rank that shares its sequence with no other does not
  /// merge.
  void attend(const Place& place, int nth, std::vector<bool>& holds_result) {
    for (std::size_t r = 0; r < writer_.rankCount(); ++r) {
      const GroupRank rank = GroupRank::of(r), owner = plan_.blockOwner(rank, nth, place.direction);
      const std::int64_t pairs =
          pairs_[plan_.ringRank(rank).index()][plan_.ringRank(owner).index()];
      if (pairs == 0) continue;
      const WorldRank source = WorldRank::of(owner.value());
      writer_.workOn(r, EventKind::kAttend, place, sizes_.attend(place.direction, pairs), source);
      if (run_.cp == 1 || place.direction == kBackward) continue;
      writer_.workOn(r, EventKind::kMerge, place, sizes_.merge(!holds_result[r]), source);
      holds_result[r] = true;
    }
  }

  const RunSpec& run_;
  const std::int64_t layers_;
  const PlannedSizes sizes_;
  const LayerPlan plan_;
  const std::vector<std::vector<std::int64_t>> pairs_;  ///< [ring rank][owner of the block]
  std::map<Direction, std::vector<LayerAction>> actions_;
  ProgramWriter writer_;
};

Program plan(RunSpec run, const ModelSizes& sizes, const DeviceSpeed& device,
             std::vector<RankWork>* work) {
  constexpr std::int64_t kMostRanks = 1024, kMostSteps = std::int64_t{1} << 22;
  run.command = Command::kTrain;
  run.launch = Launch::kEnv;
  run.device = Device::kCuda;
  run.transport = TransportKind::kNccl;
  run.model.layers = sizes.layers;
  run.model.heads = sizes.heads;
  run.model.kv_heads = sizes.kv_heads;
  run.model.head_dim = sizes.head_dim;
  if (const auto reason = refusal(run)) throw usageError(*reason);
  if (run.cp > kMostRanks || sizes.layers * run.cp * run.cp > kMostSteps)
    throw usageError("cp " + std::to_string(run.cp) + " over " + std::to_string(sizes.layers) +
                     " layers is more than this model replays; use fewer of either");
  return Planner(run, sizes, device, work).plan();
}

}  // namespace

Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device) {
  return plan(run, sizes, device, nullptr);
}

std::vector<RankWork> plannedWork(const RunSpec& run, const ModelSizes& sizes) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  std::vector<RankWork> work;
  plan(run, sizes, {"", kNoTime, kNoTime, kNoTime, kNoTime}, &work);
  return work;
}

}  // namespace ringscope::traces
