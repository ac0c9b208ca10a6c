// SPDX-License-Identifier: Apache-2.0
// Recomputation: whether backward has the activations of forward.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/recompute/sixteen_bits.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// recompute_differs: backward works with another k or v than the KV block that forward sent round,
// or q, k and v do not give the lse and out of forward.
namespace {

/// Multiply-adds for one layer.
constexpr double kLayerWork = 1e6;
/// Kernels that add in any order differ by a few units in the last place.
constexpr double kUnits = 64;

enum class SameAs { kUnknown, kYes, kNo };

struct ForwardReading {
  SameAs forward = SameAs::kUnknown;
  Place place;
  WorldRank rank;
  std::string buffer, evidence;
};

/// Returns the KV block of the rank's own tokens, as a ring step of this direction had it.
const TensorRecord* ownBlock(const Trace& trace, const LayerPass& pass, Direction direction,
                             WorldRank rank) {
  TensorKey key{{TensorKind::kKv}, {pass.train_step, pass.layer, direction, {}}};
  key.microbatch = pass.microbatch;
  key.pass = direction == Direction::kForward ? Pass::kForward : Pass::kBackward;
  key.rank = key.source_rank = rank;
  constexpr int kMostSteps = 1024;
  for (int step = 0; step < kMostSteps; ++step) {
    key.place.stage = RingStep::of(step);
    if (const TensorRecord* block = trace.findTensor(key)) return block;
    if (!trace.run() || step >= trace.run()->cp) return nullptr;
  }
  return nullptr;
}

/// Returns a tensor of the layer's forward, in any pass over it; null when it was not recorded.
const TensorRecord* ofForward(const Trace& trace, const LayerPass& pass, TensorKind kind,
                              WorldRank rank) {
  const Place place{pass.train_step, pass.layer, Direction::kForward, {}};
  for (const TensorRecord* tensor : trace.tensorsAt({kind}, place, rank))
    if (tensor->microbatch == pass.microbatch) return tensor;
  return nullptr;
}

/// Returns the largest difference between a block and the tensors that it is made of, as a share of
/// its largest value. Compares extremes when values are missing. Returns nullopt when neither was
/// recorded.
std::optional<double> difference(const Trace& trace, const TensorRecord& block,
                                 const std::vector<const TensorRecord*>& parts) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::vector<double> values;
  bool kept = true;
  for (const TensorRecord* part : parts) {
    if (part->dtype != block.dtype || part->stats.nan > 0 || part->stats.inf > 0)
      return std::nullopt;
    low = std::min(low, part->stats.min);
    high = std::max(high, part->stats.max);
    const auto own = trace.values(*part);
    kept = kept && own;
    if (own) values.insert(values.end(), own->begin(), own->end());
  }
  if (block.stats.nan > 0 || block.stats.inf > 0) return std::nullopt;
  double off = std::max(std::abs(low - block.stats.min), std::abs(high - block.stats.max));
  const auto of_block = kept ? trace.values(block) : std::nullopt;
  for (std::size_t i = 0; of_block && i < std::min(values.size(), of_block->size()); ++i)
    off = std::max(off, std::abs(values[i] - (*of_block)[i]));
  return off / std::max(block.stats.abs_max, std::numeric_limits<double>::min());
}

/// Compares the KV block of one rank in forward with the k and v of backward, and with the block
/// that backward sends round.
ForwardReading byBlocks(const Trace& trace, const LayerPass& pass, WorldRank rank) {
  ForwardReading reading;
  const TensorRecord* sent = ownBlock(trace, pass, Direction::kForward, rank);
  const auto *k = ofForward(trace, pass, TensorKind::kK, rank),
             *v = ofForward(trace, pass, TensorKind::kV, rank),
             *again = ownBlock(trace, pass, Direction::kBackward, rank);
  if (!sent || !k || !v || k->shape != v->shape) return reading;
  std::vector<std::int64_t> shape = {2};  // Ulysses sends the heads and tokens of others
  shape.insert(shape.end(), k->shape.begin(), k->shape.end());
  if (sent->shape != shape || (again && again->shape != shape)) return reading;
  auto off = difference(trace, *sent, {k, v});
  if (!off) return reading;
  if (again) off = std::max(*off, difference(trace, *sent, {again}).value_or(0));
  const double room = kUnits * unitRoundoff(sent->dtype);
  reading.forward = *off <= room ? SameAs::kYes : SameAs::kNo;
  reading.rank = rank;
  reading.buffer = "kv";
  reading.evidence = "The k and v that backward works with differ from the KV block that rank " +
                     toString(rank) + " had in forward by " + describeSignificant(*off, 2) +
                     " of its largest value, where rounding explains " +
                     describeSignificant(room, 2) + ".";
  return reading;
}

/// Reports whether q, k and v have a wider type, and bfloat16 has all of their numbers.
bool wasRounded(const Trace& trace, const LayerPass& pass, WorldRank rank) {
  for (const TensorKind kind : {TensorKind::kQ, TensorKind::kK, TensorKind::kV}) {
    const TensorRecord* tensor = ofForward(trace, pass, kind, rank);
    const auto values = tensor ? trace.values(*tensor) : std::nullopt;
    if (!values || (tensor->dtype != DType::kFloat32 && tensor->dtype != DType::kFloat64) ||
        !std::ranges::all_of(*values, isBFloat16))
      return false;
  }
  return true;
}

/// Compares the lse and out of forward with those that q, k and v give. They differ only if q, k
/// and v were rounded.
ForwardReading byResults(const Trace& trace, const LayerPass& pass,
                         const std::vector<WorldRank>& members) {
  constexpr double kSure = 4;
  ForwardReading reading;
  double worst = 0;
  int compared = 0;
  for (const TensorCheck& tensor : checkLayer(trace, pass, members, kLayerWork).tensors) {
    if (tensor.rows == 0 || (tensor.kind != TensorKind::kLse && tensor.kind != TensorKind::kOut))
      continue;
    ++compared;
    worst = std::max(worst, tensor.worst.ratio());
  }
  if (compared == 0) return reading;
  if (worst <= kSure) reading.forward = SameAs::kYes;
  if (worst <= kSure || !wasRounded(trace, pass, members.front())) return reading;
  reading.forward = SameAs::kNo;
  reading.rank = members.front();
  reading.buffer = "q";
  reading.evidence =
      "The q, k and v that backward works with do not give the lse and out of "
      "forward (" +
      describeMultiple(worst) +
      " what rounding explains), and every one of their "
      "values is one that bfloat16 has, though their type is wider.";
  return reading;
}

Finding recomputeDiffersFinding(const LayerPass& pass, const ForwardReading& reading) {
  return {
      .confidence = reading.buffer == "kv" ? Confidence::kCertain : Confidence::kLikely,
      .title = "Recomputation gives other activations than the forward pass",
      .place = {pass.train_step, pass.layer, Direction::kBackward, {}},
      .rank = reading.rank,
      .buffer = reading.buffer,
      .evidence = reading.evidence,
      .remedy =
          "Recompute under the same autocast state, random state and code path as the forward pass "
          "(torch.utils.checkpoint with preserve_rng_state and the context_fn of autocast)."};
}

}  // namespace

RuleResult checkRecomputeDiffers(const Trace& trace) {
  const RunSpec* run = trace.run();
  if (run && !run->recompute) return clear();
  if (run && run->fp8)
    return undecided("needs blocks as they were before FP8 rounded them to send them");
  bool same = false;
  const RecordedLayers layers = recordedLayers(trace);
  for (const LayerPass& pass : layers.with_values)
    for (const auto& members : sequenceGroups(trace, {pass.train_step, pass.microbatch})) {
      ForwardReading reading;
      for (const WorldRank rank : members) {
        reading = byBlocks(trace, pass, rank);
        if (reading.forward != SameAs::kYes) break;
      }
      if (reading.forward == SameAs::kUnknown) reading = byResults(trace, pass, members);
      if (reading.forward == SameAs::kNo) return found(recomputeDiffersFinding(pass, reading));
      same = same || reading.forward == SameAs::kYes;
    }
  if (same) return clear();
  if (layers.with_values.empty())
    return notObservable(
        "needs the KV block that each rank had in forward, q, k and v as backward "
        "has them, and lse and out");
  return undecided(
      "needs q, k and v of which it can be told whether forward's lse and out are made");
}

}  // namespace ringscope::traces
