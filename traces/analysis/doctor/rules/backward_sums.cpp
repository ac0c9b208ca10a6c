// SPDX-License-Identifier: Apache-2.0
// The lse and delta that backward works with.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/to_index.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// local_delta_in_backward: dq follows from the lse and delta of each block alone, and not from the
// merged ones.
namespace {

/// Multiply-adds for one layer.
constexpr double kDeltaWork = 1e7;

/// Returns the tokens of each KV block, as ascending indices into the layer's tokens; none when the
/// attended tokens of a rank are not known.
std::vector<std::vector<std::size_t>> tokensOfBlocks(const Trace& trace, const LayerTensors& layer,
                                                     const std::vector<WorldRank>& members) {
  std::set<std::vector<std::size_t>> blocks;
  for (const WorldRank rank : members) {
    const auto* schedule = trace.schedule(layer.pass.train_step, rank, Direction::kBackward,
                                          layer.pass.layer, layer.pass.microbatch);
    const auto of_rank = std::ranges::count(layer.owners, rank);
    const auto tokens =
        schedule ? attendedTokens(*schedule, layer.tokens.size())
                 : ownTokens(trace, layer.pass.train_step, rank, of_rank, layer.pass.microbatch);
    std::vector<std::size_t> block;
    for (const TokenIndex token : tokens) {
      const auto found = std::ranges::lower_bound(layer.tokens, token);
      if (found == layer.tokens.end() || *found != token) return {};
      block.push_back(static_cast<std::size_t>(found - layer.tokens.begin()));
    }
    std::ranges::sort(block);
    blocks.insert(std::move(block));
  }
  std::size_t tokens = 0;
  for (const auto& block : blocks) tokens += block.size();
  if (tokens != layer.tokens.size()) return {};
  return {blocks.begin(), blocks.end()};
}

/// Returns the rows [groups, tokens, width] of some tokens.
std::vector<double> rowsOfTokens(const std::vector<double>& values, const LayerTensors& layer,
                                 const std::vector<std::size_t>& tokens) {
  std::vector<double> rows;
  const std::size_t width = toIndex(layer.head_dim), all = layer.tokens.size() * width;
  for (std::size_t group = 0; group * all < values.size(); ++group)
    for (const std::size_t token : tokens) {
      const auto row = values.begin() + static_cast<std::ptrdiff_t>(group * all + token * width);
      rows.insert(rows.end(), row, row + layer.head_dim);
    }
  return rows;
}

std::vector<double> sinksFor(const Trace& trace, const LayerTensors& layer,
                             const Selection& selection) {
  std::vector<double> sinks;
  const auto all = layer.sinks ? trace.values(*layer.sinks) : std::nullopt;
  if (!all) return sinks;
  for (const HeadGroup& group : selection.groups)
    for (std::int64_t h = 0; h < layer.groupSize(); ++h)
      sinks.push_back(all->at(toIndex(group.kv_head * layer.groupSize() + h)));
  return sinks;
}

/// Returns the sum over blocks of the dq that each block would have as an attention of its own with
/// these sinks. The result has the shape of q of the selection.
std::vector<double> dqOfBlocksAlone(const Trace& trace, const LayerTensors& layer,
                                    const Selection& selection, const AttentionMask& mask,
                                    const std::vector<std::vector<std::size_t>>& blocks,
                                    const std::vector<double>& sinks) {
  const auto q = layer.values(trace, TensorKind::kQ, selection).values,
             k = layer.values(trace, TensorKind::kK, selection).values,
             v = layer.values(trace, TensorKind::kV, selection).values,
             dout = layer.values(trace, TensorKind::kDout, selection).values;
  std::vector<double> dq(q.size(), 0);
  for (const auto& block : blocks) {
    const auto block_k = rowsOfTokens(k, layer, block), block_v = rowsOfTokens(v, layer, block);
    AttentionInputs in;
    in.batch = std::ssize(selection.groups);
    in.heads = layer.groupSize();
    in.kv_heads = 1;
    in.head_dim = layer.head_dim;
    for (const std::size_t row : selection.rows) in.q_tokens.push_back(layer.tokens[row]);
    for (const std::size_t token : block) in.k_tokens.push_back(layer.tokens[token]);
    in.q = q;
    in.k = block_k;
    in.v = block_v;
    in.dout = dout;
    in.sinks = sinks;
    static_cast<ScoreRule&>(in) = layer.scores;
    in.mask = mask;
    const AttentionValues alone = attend(in);
    for (std::size_t i = 0; i < dq.size(); ++i) dq[i] += alone.dq[i];
  }
  return dq;
}

double distanceBetween(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

double measureSize(const std::vector<double>& values) {
  return distanceBetween(values, std::vector<double>(values.size(), 0));
}

/// Returns the share of a whole dq that rounding may explain.
double dqRounding(const LayerTensors& layer) {
  const DType dtype = layer.tensors.at(TensorKind::kDq).front().record->dtype;
  return isNarrow(dtype) ? 0.05 : 1e-3;
}

enum class DqIs {
  kUnknown,
  kOfMerged,
  kOfEither,  ///< the dq of blocks alone is as near, within rounding
  kOfBlocksAlone,
  kNeither
};

/// One layer of one group.
struct DqReading {
  DqIs is = DqIs::kUnknown;
  RowError worst;                ///< against the merged sums
  double alone = 0, merged = 0;  ///< distance of dq from the dq of blocks alone and of merged sums
  double whole = 0;              ///< size of the dq of the merged sums
  std::string missing;
};

constexpr double kClear = 4;  ///< rounding may explain smaller multiples

/// Measures the distances of the recorded dq from the dq of the merged sums and of blocks alone.
void measureDq(DqReading& reading, const Trace& trace, const LayerTensors& layer,
               const Selection& selection, const std::vector<std::vector<std::size_t>>& blocks,
               const AttentionMask& mask) {
  std::vector<std::size_t> all(layer.tokens.size());
  std::iota(all.begin(), all.end(), 0);
  const auto recorded = layer.values(trace, TensorKind::kDq, selection).values,
             alone = dqOfBlocksAlone(trace, layer, selection, mask, blocks, {}),
             merged = dqOfBlocksAlone(trace, layer, selection, mask, {all},
                                      sinksFor(trace, layer, selection));
  reading.alone = distanceBetween(recorded, alone);
  reading.merged = distanceBetween(recorded, merged);
  reading.whole = measureSize(merged);  // of blocks with one key each nothing would be left
  if (kClear * reading.alone < reading.merged &&
      reading.alone <= dqRounding(layer) * reading.whole) {
    reading.is = DqIs::kOfBlocksAlone;
  } else if (reading.is == DqIs::kOfMerged) {
    const bool alike =
        distanceBetween(alone, merged) <= 1e-9 * reading.whole;  // it makes no difference
    if (!alike && reading.alone <= kClear * reading.merged) reading.is = DqIs::kOfEither;
  }
}

/// `tells`: a right dq must be told from the dq of blocks alone.
DqReading readDq(const Trace& trace, const LayerPass& pass, const std::vector<WorldRank>& members,
                 bool tells) {
  DqReading reading;
  const LayerCheck check = checkLayer(trace, pass, members, kDeltaWork);
  const auto dq = std::ranges::find(check.tensors, TensorKind::kDq, &TensorCheck::kind);
  if (dq == check.tensors.end() || dq->rows == 0) {
    reading.missing = check.skipped.empty() ? "" : check.skipped.front();
    return reading;
  }
  reading.worst = dq->worst;
  const LayerTensors layer = findLayer(trace, pass, members);
  const auto blocks = tokensOfBlocks(trace, layer, members);
  reading.is = dq->worst.ratio() <= kClear ? DqIs::kOfMerged : DqIs::kNeither;
  if (!blocks.empty() && (reading.is == DqIs::kNeither || tells))
    measureDq(reading, trace, layer, check.selection, blocks, check.mask);
  return reading;
}

Finding localDeltaInBackwardFinding(const LayerPass& pass, const DqReading& reading) {
  return {
      .title = "Backward uses the lse and delta of each block alone",
      .place = {pass.train_step, pass.layer, Direction::kBackward, {}},
      .rank = reading.worst.rank,
      .buffer = "dq",
      .evidence = "The recorded dq differs from that of the merged lse and delta by " +
                  describeSignificant(reading.merged, 2) +
                  ", and from the sum of what each block gives by itself by " +
                  describeSignificant(reading.alone, 2) +
                  ", where that of the merged sums has the size " +
                  describeSignificant(reading.whole, 2) + ". The worst row is that of token " +
                  describeCount(reading.worst.token.value()) + ".",
      .remedy =
          "Save the merged out and lse in forward and give these to the backward of every block: "
          "delta = rowsum(dout ∘ out) and the weights exp(score − lse) are of the whole row."};
}

}  // namespace

RuleResult checkLocalDeltaInBackward(const Trace& trace) {
  bool right = false, either = false;
  std::string missing;
  std::optional<LayerPass> neither;
  for (const LayerPass& pass : recordedLayers(trace).with_values)
    for (const auto& members : sequenceGroups(trace, {pass.train_step, pass.microbatch})) {
      const DqReading reading = readDq(trace, pass, members, !right);
      if (reading.is == DqIs::kOfBlocksAlone)
        return found(localDeltaInBackwardFinding(pass, reading));
      right = right || reading.is == DqIs::kOfMerged;
      either = either || reading.is == DqIs::kOfEither;
      if (reading.is == DqIs::kNeither && !neither) neither = pass;
      if (missing.empty()) missing = reading.missing;
    }
  if (neither)
    return undecided(
        "needs a dq that follows from q, k, v and dout in one way or the other; that "
        "of step " +
        std::to_string(neither->train_step) + " › layer " + toString(neither->layer) + " does not");
  if (right) return clear();
  if (either)
    return undecided(
        "needs a layer whose dq tells the merged lse and delta from those of blocks alone; "
        "in those recorded both give it, but for rounding");
  if (!missing.empty()) return undecided("needs dq to be computed again; " + missing);
  return notObservable("needs q, k, v, dout and dq of one layer");
}

}  // namespace ringscope::traces
