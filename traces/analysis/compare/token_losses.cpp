// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/token_losses.h"

#include <algorithm>
#include <tuple>

#include "traces/analysis/compare/logical_tensor.h"
#include "traces/analysis/verify/recompute/loss.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

/// Returns the tokens of a rank's labels in local order; empty when they are not recorded. Labels
/// may be cut differently from the tokens of the input.
std::vector<TokenIndex> labelTokens(const Trace& trace, std::int32_t train_step, WorldRank rank,
                                    std::int64_t count) {
  std::vector<TokenIndex> tokens;
  if (const ShardRecord* shard = trace.findShard("labels", train_step, rank))
    for (const TokenRun& run : shard->global_from_local)
      for (std::int64_t g = run.begin; g < run.end && std::ssize(tokens) <= count; ++g)
        tokens.push_back(TokenIndex::of(g));
  return std::ssize(tokens) == count ? tokens : ownTokens(trace, train_step, rank, count);
}

void addLosses(const Trace& trace, std::int32_t train_step, WorldRank rank,
               std::vector<TokenLoss>& losses) {
  const RankLogits of_rank = rankLogits(trace, train_step, rank);
  const auto width = static_cast<std::size_t>(of_rank.vocabulary);
  if (width == 0) throw MissingValue{"the logits of rank " + toString(rank) + " are empty"};
  const std::int64_t length =
      of_rank.label_shape.empty() ? std::ssize(of_rank.labels) : of_rank.label_shape.back();
  if (length <= 0) return;
  const std::int64_t batch = std::ssize(of_rank.labels) / length;
  const auto tokens = labelTokens(trace, train_step, rank, length);
  const std::int64_t first = coordinate(trace, rank, GroupAxis::kDp) * batch;
  const std::span<const double> logits = of_rank.logits;
  for (std::size_t i = 0; i < of_rank.labels.size(); ++i) {
    const double label = of_rank.labels[i];
    if (!(label >= 0)) continue;
    if (!(label < static_cast<double>(width)))
      throw inputError("a label of rank " + toString(rank) + " is outside the vocabulary of " +
                       std::to_string(width));
    const auto entropy = tokenEntropy(logits.subspan(i * width, width),
                                      static_cast<std::size_t>(label), of_rank.smoothing);
    const auto at = static_cast<std::int64_t>(i);
    losses.push_back(
        {train_step, first + at / length,
         tokens.empty() ? TokenIndex::none() : tokens[static_cast<std::size_t>(at % length)], rank,
         static_cast<std::int64_t>(label), entropy.loss, entropy.log_probability});
  }
}

}  // namespace

TokenLosses tokenLosses(const Trace& trace, std::int32_t train_step,
                        std::span<const WorldRank> ranks) {
  TokenLosses found;
  for (const WorldRank rank : ranks) {
    std::string why;
    try {
      addLosses(trace, train_step, rank, found.tokens);
    } catch (const MissingValue& missing) {
      why = missing.why;
    } catch (const Error& error) {
      why = error.what();
    }
    if (found.missing.empty()) found.missing = why;
  }
  std::ranges::stable_sort(found.tokens, {}, [](const TokenLoss& loss) {
    return std::tuple(loss.sequence, loss.token, loss.rank);
  });
  return found;
}

}  // namespace ringscope::traces
