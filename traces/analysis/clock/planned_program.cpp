// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/planned_program.h"

#include <limits>
#include <map>

#include "traces/analysis/clock/planned_writer.h"
#include "traces/format/core/error.h"
#include "traces/plan/attended_pairs.h"
#include "traces/plan/kernel_work.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

/// The stages of engine/attention/strategies/README.md, in the order in which ranks visit them.
class Planner {
 public:
  /// `kind`: for whose kernels the engine cuts what is attended.
  Planner(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device, Device kind,
          std::vector<std::vector<PlannedStage>>* stages)
      : run_(run),
        layers_(sizes.layers),
        sizes_(run, sizes),
        pairs_(joinedPairs(attendedPairs(run), sizes_.ulysses())),
        kernels_(device.measured || stages ? kernelsOf(run, sizes_.ulysses(), kind)
                                           : kernelsThatSkip(run, pairs_)),
        rings_(run.cp / sizes_.ulysses()),
        writer_(run, device, stages) {}

  Program plan() {
    const Place begin{0, {}, Direction::kForward, {}}, end{0, {}, Direction::kBackward, {}};
    writer_.beginStep();
    writer_.work(EventKind::kEmbed, begin, sizes_.embed(Direction::kForward));
    activations(begin, 1);
    for (std::int64_t l = 0; l < layers_; ++l) forward(Layer::of(l));
    writer_.work(EventKind::kLoss, begin, sizes_.loss(Direction::kForward));
    lossSums(begin);
    writer_.work(EventKind::kLoss, end, sizes_.loss(Direction::kBackward));
    activations(end, 1);
    for (std::int64_t l = layers_ - 1; l >= 0; --l) backward(Layer::of(l));
    writer_.work(EventKind::kEmbed, end, sizes_.embed(Direction::kBackward));
    writer_.work(EventKind::kGradSync, end, sizes_.gradSync());
    writer_.allReduce(end, Payload::kGrads, sizes_.gradientBytes(), run_.dp * run_.cp,
                      GroupAxis::kDpCp, true);
    writer_.work(EventKind::kClip, end, sizes_.clip());
    writer_.work(EventKind::kOptimizer, end, sizes_.optimizer());
    return writer_.take();
  }

 private:
  using Posted = ProgramWriter::Posted;
  using Kernels = std::map<Direction, std::vector<std::vector<KernelWork>>>;
  static constexpr auto kForward = Direction::kForward, kBackward = Direction::kBackward;

  static Kernels kernelsOf(RunSpec run, std::int32_t ulysses, Device kind) {
    run.device = kind;
    return {{kForward, kernelWork(run, ulysses, kForward)},
            {kBackward, kernelWork(run, ulysses, kBackward)}};
  }

  /// Of a cluster's kernels nothing is known but that they attend a block in one call, and leave
  /// out what its mask does.
  static Kernels kernelsThatSkip(const RunSpec& run,
                                 const std::vector<std::vector<std::int64_t>>& pairs) {
    std::vector<std::vector<KernelWork>> work(pairs.size());
    for (std::size_t ring = 0; ring < pairs.size(); ++ring)
      for (const std::int64_t attended : pairs[ring]) {
        KernelWork& of = work[ring].emplace_back();
        of.pairs = attended;
        of.calls = of.pieces = 1;
        of.whole = true;
        of.rows = run.seq_len / static_cast<std::int64_t>(pairs.size());
      }
    return {{kForward, work}, {kBackward, work}};
  }

  void activations(const Place& place, int times) {
    for (int i = 0; i < times; ++i)
      writer_.allReduce(place, Payload::kActivations, sizes_.activationBytes(), run_.tp,
                        GroupAxis::kTp, false);
  }

  /// Of a vocabulary in shares: everyone's log-sum-exp, and the score of each target.
  void lossSums(const Place& place) {
    for (const std::int32_t numbers : {run_.tp, 1})
      writer_.allReduce(place, Payload::kActivations, numbers * sizes_.tokenSumBytes(), run_.tp,
                        GroupAxis::kTp, false);
  }

  void forward(Layer layer) {
    const Place whole{0, layer, kForward, {}}, first{0, layer, kForward, RingStep::of(0)};
    writer_.work(EventKind::kProject, whole, sizes_.project(kForward));
    heads(first, sizes_.qkvHeadsBytes());
    gathers() ? gatheredForward(layer) : ringForward(layer);
    heads(first, sizes_.outHeadsBytes());
    heads(first, sizes_.lseHeadsBytes());
    writer_.work(EventKind::kFeedForward, whole, sizes_.feedForward(kForward));
    activations(whole, 2);
  }

  void backward(Layer layer) {
    const Place whole{0, layer, kBackward, {}}, first{0, layer, kBackward, RingStep::of(0)};
    writer_.work(EventKind::kFeedForward, whole, sizes_.feedForward(kBackward));
    activations(whole, run_.recompute ? 3 : 1);
    heads(first, sizes_.outHeadsBytes());
    gathers() ? gatheredBackward(layer) : ringBackward(layer);
    heads(first, sizes_.gradHeadsBytes());
    writer_.work(EventKind::kProject, whole, sizes_.project(kBackward));
    activations(whole, 1);
  }

  int ringSeat(int rank) const { return rank / sizes_.ulysses(); }
  int rankAt(int seat, int rank) const {
    return (seat + rings_) % rings_ * sizes_.ulysses() + rank % sizes_.ulysses();
  }

  /// Between those that share heads: a message to each other one, and nothing to do meanwhile.
  void heads(const Place& place, std::int64_t bytes) {
    const int together = sizes_.ulysses();
    if (together == 1) return;
    writer_.wait(writer_.post(place, Payload::kHeads, bytes, [together](int rank) {
      std::vector<int> others;
      for (int i = 1; i < together; ++i)
        others.push_back(rank / together * together + (rank + i) % together);
      return others;
    }));
  }

  Posted hop(const Place& place, Payload payload, std::int64_t bytes, int towards) {
    return writer_.post(place, payload, bytes, [this, towards](int rank) {
      return std::vector{rankAt(ringSeat(rank) + towards, rank)};
    });
  }

  Posted gather(const Place& place, Payload payload, std::int64_t bytes) {
    return writer_.post(place, payload, bytes, [this](int rank) {
      std::vector<int> others;
      for (int i = 1; i < rings_; ++i) others.push_back(rankAt(ringSeat(rank) + i, rank));
      return others;
    });
  }

  /// Whose block `rank` holds at a step, as a seat in its ring.
  int sourceAt(int rank, int step, Direction direction) const {
    const bool against = direction == kBackward && diagonalLast() && !gathers();
    const int seat = ringSeat(rank);
    return ((against ? seat + 1 + step : seat - step) % rings_ + rings_) % rings_;
  }
  /// All blocks at once, before any is attended.
  bool gathers() const { return !hasRingHops(run_) && rings_ == run_.cp; }
  bool diagonalLast() const { return run_.order == Order::kDiagonalLast; }

  /// Attends a step's blocks. A rank that shares its sequence with none merges inside of that.
  void attend(const Place& place, int step, Direction direction, std::vector<bool>& holds) {
    for (int r = 0; r < writer_.ranks(); ++r) {
      const int source = sourceAt(r, step, direction);
      const auto at = static_cast<std::size_t>(ringSeat(r)), of = static_cast<std::size_t>(source);
      if (pairs_[at][of] == 0) continue;
      const WorldRank owner = WorldRank::of(rankAt(source, r));
      const KernelWork& kernel = kernels_.at(direction)[at][of];
      StageWork work = sizes_.attend(direction, pairs_[at][of], kernel);
      if (run_.cp == 1 && kernel.pieces > 1) work.memory_bytes = sizes_.merge(kernel).memory_bytes;
      writer_.workOf(WorldRank::of(r), EventKind::kAttend, place, work, owner);
      const bool first = !holds[static_cast<std::size_t>(r)];
      holds[static_cast<std::size_t>(r)] = true;
      if (run_.cp == 1 || direction == kBackward) continue;
      writer_.workOf(WorldRank::of(r), EventKind::kMerge, place,
                     first && kernel.whole ? sizes_.takeOver(kernel) : sizes_.merge(kernel), owner);
    }
  }

  void ringForward(Layer layer) {
    std::vector<bool> holds(static_cast<std::size_t>(writer_.ranks()), false);
    for (int step = 0; step < rings_; ++step) {
      const Place place{0, layer, kForward, RingStep::of(step)};
      const bool moves = step + 1 < rings_ && (step == 0 || run_.rotate != Rotate::kAllGather);
      const Posted kv = moves ? kvFrom(place, 1) : Posted{};
      attend(place, step, kForward, holds);
      if (moves) writer_.wait(kv);
    }
  }

  Posted kvFrom(const Place& place, int towards) {
    return run_.rotate == Rotate::kAllGather ? gather(place, Payload::kKv, sizes_.kvBytes())
                                             : hop(place, Payload::kKv, sizes_.kvBytes(), towards);
  }

  void ringBackward(Layer layer) {
    std::vector<bool> holds(static_cast<std::size_t>(writer_.ranks()), false);
    const bool gathered = run_.rotate == Rotate::kAllGather;
    const int towards = diagonalLast() ? -1 : 1;
    Posted returning;
    if (gathered && diagonalLast() && rings_ > 1)
      writer_.wait(kvFrom({0, layer, kBackward, RingStep::of(0)}, towards));
    for (int step = 0; step < rings_; ++step) {
      const Place place{0, layer, kBackward, RingStep::of(step)};
      const bool more = step + 1 < rings_;
      const bool moves = more && (!gathered || (step == 0 && !diagonalLast()));
      const Posted kv = moves ? kvFrom(place, towards) : Posted{};
      attend(place, step, kBackward, holds);
      if (returning.exchange != Program::kNone) writer_.wait(returning);
      returning = {};
      if (run_.cp > 1) writer_.work(EventKind::kMerge, place, sizes_.mergeGradients());
      if (rings_ > 1 && (more || !diagonalLast()))
        returning = hop(place, Payload::kDkv, sizes_.dkvBytes(), towards);
      if (moves) writer_.wait(kv);
    }
    if (returning.exchange != Program::kNone) writer_.wait(returning);
  }

  void gatheredForward(Layer layer) {
    const Place place{0, layer, kForward, RingStep::of(0)};
    std::vector<bool> holds(static_cast<std::size_t>(writer_.ranks()), false);
    if (rings_ > 1) writer_.wait(gather(place, Payload::kKv, sizes_.kvBytes()));
    for (int step = 0; step < rings_; ++step) attend(place, step, kForward, holds);
  }

  void gatheredBackward(Layer layer) {
    const Place place{0, layer, kBackward, RingStep::of(0)};
    std::vector<bool> holds(static_cast<std::size_t>(writer_.ranks()), false);
    if (rings_ > 1) writer_.wait(gather(place, Payload::kKv, sizes_.kvBytes()));
    for (int step = 0; step < rings_; ++step) attend(place, step, kBackward, holds);
    if (rings_ > 1) writer_.wait(gather(place, Payload::kDkv, sizes_.dkvBytes()));
    if (rings_ > 1) writer_.work(EventKind::kMerge, place, sizes_.mergeGradients(rings_ - 1));
  }

  const RunSpec& run_;
  const std::int64_t layers_;
  const PlannedSizes sizes_;
  const std::vector<std::vector<std::int64_t>> pairs_;
  const Kernels kernels_;
  const int rings_;
  ProgramWriter writer_;
};

RunSpec onCluster(RunSpec run, const ModelSizes& sizes) {
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

Program planned(const RunSpec& asked, const ModelSizes& sizes, const DeviceSpeed& device,
                std::vector<std::vector<PlannedStage>>* stages) {
  constexpr std::int64_t kMostRanks = 1024, kMostSteps = std::int64_t{1} << 22;
  const RunSpec run = onCluster(asked, sizes);
  if (const auto reason = refusal(run)) throw usageError(*reason);
  if (run.cp > kMostRanks || sizes.layers * run.cp * run.cp > kMostSteps)
    throw usageError("cp " + std::to_string(run.cp) + " over " + std::to_string(sizes.layers) +
                     " layers is more than this model replays; use fewer of either");
  return Planner(run, sizes, device, asked.device, stages).plan();
}

}  // namespace

Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device) {
  return planned(run, sizes, device, nullptr);
}

PlannedWork plannedWork(const RunSpec& run, const ModelSizes& sizes) {
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  PlannedWork work;
  work.schedule =
      planned(run, sizes, {"", kEndless, kEndless, kEndless, kEndless, std::nullopt}, &work.stages);
  return work;
}

}  // namespace ringscope::traces
