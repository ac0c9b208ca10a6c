// SPDX-License-Identifier: Apache-2.0
// Where activations are computed again, the k and v that backward is given are recorded beside the
// KV block that forward sent round, and q, k and v beside the lse and out that forward made.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/recompute/row_limits.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// Multiply-adds for one layer.
constexpr double kWork = 1e6;
/// Kernels that add in any order differ by a few units in the last place.
constexpr double kUnits = 64;

enum class SameAs { kUnknown, kYes, kNo };

struct Reading {
  SameAs forward = SameAs::kUnknown;
  Place place;
  WorldRank rank;
  std::string buffer, evidence;
};

/// The KV block of the rank's own tokens, as a ring step of this direction had it.
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

/// Largest difference between a block and the tensors that it is made of as a share of its largest
/// value, by values or by the extremes of both; nothing where their numbers cannot be compared.
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

/// By the KV blocks of one rank: those of forward against the k and v of backward, and against the
/// block that backward sends round.
Reading byBlocks(const Trace& trace, const LayerPass& pass, WorldRank rank) {
  Reading reading;
  const TensorRecord* sent = ownBlock(trace, pass, Direction::kForward, rank);
  const Place place{pass.train_step, pass.layer, Direction::kForward, {}};
  const auto *k = trace.findTensor({TensorKind::kK}, place, rank),
             *v = trace.findTensor({TensorKind::kV}, place, rank),
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

bool fitsBFloat16(double value) {
  const auto rounded = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return static_cast<double>(rounded) == value && (bits & 0xffff) == 0;
}

/// Wider numbers, all of which bfloat16 has.
bool wasRounded(const Trace& trace, const LayerPass& pass, WorldRank rank) {
  const Place place{pass.train_step, pass.layer, Direction::kForward, {}};
  for (const TensorKind kind : {TensorKind::kQ, TensorKind::kK, TensorKind::kV}) {
    const TensorRecord* tensor = trace.findTensor({kind}, place, rank);
    const auto values = tensor ? trace.values(*tensor) : std::nullopt;
    if (!values || (tensor->dtype != DType::kFloat32 && tensor->dtype != DType::kFloat64) ||
        !std::ranges::all_of(*values, fitsBFloat16))
      return false;
  }
  return true;
}

/// By what q, k and v give: forward's lse and out are right, or they are not and q, k and v were
/// rounded.
Reading byResults(const Trace& trace, const LayerPass& pass,
                  const std::vector<WorldRank>& members) {
  constexpr double kSure = 4;
  Reading reading;
  double worst = 0;
  int compared = 0;
  for (const TensorCheck& tensor : checkLayer(trace, pass, members, kWork).tensors) {
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

Finding finding(const LayerPass& pass, const Reading& reading) {
  Finding f;
  f.rule = "recompute_differs";
  f.severity = "error";
  f.confidence = reading.buffer == "kv" ? "certain" : "likely";
  f.title = "Recomputation gives other activations than the forward pass";
  f.place = {pass.train_step, pass.layer, Direction::kBackward, {}};
  f.rank = reading.rank;
  f.buffer = reading.buffer;
  f.evidence = reading.evidence;
  f.remedy =
      "Recompute under the same autocast state, random state and code path as the forward pass "
      "(torch.utils.checkpoint with preserve_rng_state and the context_fn of autocast).";
  return f;
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
    for (const auto& members : sequenceGroups(trace)) {
      Reading reading;
      for (const WorldRank rank : members) {
        reading = byBlocks(trace, pass, rank);
        if (reading.forward != SameAs::kYes) break;
      }
      if (reading.forward == SameAs::kUnknown) reading = byResults(trace, pass, members);
      if (reading.forward == SameAs::kNo) return found(finding(pass, reading));
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
