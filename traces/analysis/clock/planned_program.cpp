// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/planned_program.h"

#include <limits>

#include "traces/analysis/clock/program_writer.h"
#include "traces/format/core/error.h"
#include "traces/plan/attended_pairs.h"
#include "traces/plan/layer_plan.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

constexpr auto kForward = Direction::kForward, kBackward = Direction::kBackward;

/// Plans the stages of a step in the order of engine/attention/strategies/README.md.
class Planner {
 public:
  /// `pairs`: of the ranks of the cp group.
  Planner(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
          const PairTable& pairs, std::vector<RankWork>* work)
      : run_(run),
        layers_(sizes.layers),
        sizes_(run, sizes),
        plan_(run),
        pairs_(joinedPairs(pairs, plan_.ulysses())),
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

  /// Plans one layer, forward and backward.
  Program planLayer() {
    forward(Layer::of(0));
    backward(Layer::of(0));
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
  const PairTable pairs_;  ///< [ring rank][owner of the block]
  std::map<Direction, std::vector<LayerAction>> actions_;
  ProgramWriter writer_;
};

/// Returns the run as training of this model with a device per rank.
RunSpec asTraining(RunSpec run, const ModelSizes& sizes) {
  run.command = Command::kTrain;
  run.launch = Launch::kEnv;
  run.device = Device::kCuda;
  run.transport = TransportKind::kNccl;
  run.model.layers = sizes.layers;
  run.model.heads = sizes.heads;
  run.model.kv_heads = sizes.kv_heads;
  run.model.head_dim = sizes.head_dim;
  return run;
}

void requirePossible(const RunSpec& run, std::int64_t layers) {
  constexpr std::int64_t kMostRanks = 1024, kMostSteps = std::int64_t{1} << 22;
  if (const auto reason = refusal(run)) throw usageError(*reason);
  if (run.cp > kMostRanks || layers * run.cp * run.cp > kMostSteps)
    throw usageError("cp " + std::to_string(run.cp) + " over " + std::to_string(layers) +
                     " layers is more than this model replays; use fewer of either");
}

Program plan(const RunSpec& asked, const ModelSizes& sizes, const DeviceSpeed& device,
             std::vector<RankWork>* work) {
  const RunSpec run = asTraining(asked, sizes);
  requirePossible(run, sizes.layers);
  return Planner(run, sizes, device, attendedPairs(run), work).plan();
}

}  // namespace

Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device) {
  return plan(run, sizes, device, nullptr);
}

Program plannedLayer(const RunSpec& asked, const ModelSizes& sizes, const DeviceSpeed& device,
                     const PairTable& pairs) {
  RunSpec run = asTraining(asked, sizes);
  run.seq_len = 0;  // no check of the length: the tokens of `pairs` have been dealt already
  requirePossible(run, 1);
  run.seq_len = asked.seq_len;
  return Planner(run, sizes, device, pairs, nullptr).planLayer();
}

std::vector<RankWork> plannedWork(const RunSpec& run, const ModelSizes& sizes) {
  constexpr double kNoTime = std::numeric_limits<double>::infinity();
  std::vector<RankWork> work;
  plan(run, sizes, {"", kNoTime, kNoTime, kNoTime, kNoTime}, &work);
  return work;
}

}  // namespace ringscope::traces
