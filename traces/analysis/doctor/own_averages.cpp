// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/own_averages.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/doctor/own_documents.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/own_averages.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

/// One division on one rank.
struct OwnDivision {
  WorldRank rank;
  double count = 0, gradient = 0;
  std::int64_t tokens = 0;

  double weight() const { return gradient / count; }
  /// Reports whether the rank may divide by the number of all of its tokens.
  bool isOfAllTokens() const { return std::fmod(count, static_cast<double>(tokens)) == 0; }
};

bool areEqual(const std::vector<OwnDivision>& ranks, double (*number)(const OwnDivision&)) {
  constexpr double kRounding = 1e-3;
  const auto [least, most] = std::ranges::minmax(ranks, {}, number);
  return std::abs(number(most) - number(least)) <=
         kRounding * std::max(std::abs(number(most)), std::abs(number(least)));
}

/// Reports whether each rank divides by another count, and backward gives every quotient the same
/// weight.
bool areMeans(const std::vector<OwnDivision>& ranks) {
  const auto known = [](const OwnDivision& one) {
    return one.count >= 1 && std::isfinite(one.gradient) && one.gradient != 0 && one.tokens > 0;
  };
  return std::ranges::all_of(ranks, known) &&
         !std::ranges::all_of(ranks, &OwnDivision::isOfAllTokens) &&
         !areEqual(ranks, [](const OwnDivision& one) { return one.count; }) &&
         areEqual(ranks, [](const OwnDivision& one) { return one.gradient; });
}

std::string countWords(const OwnDivision& one) {
  return "rank " + toString(one.rank) + " divides by " + describeSignificant(one.count, 6);
}

Finding findingAt(std::int32_t train_step, const std::vector<OwnDivision>& ranks) {
  const auto [most, least] = std::ranges::minmax(ranks, {}, &OwnDivision::count);
  return {.confidence = Confidence::kLikely,
          .title = "The loss is a mean of the ranks' own means",
          .place = {train_step},
          .rank = most.rank,
          .buffer = "loss",
          .evidence = "Between the logits and the loss, " + countWords(most) + ", and " +
                      countWords(least) + ". Backward brings the gradient " +
                      describeSignificant(most.gradient, 4) +
                      " to both quotients, so a token counts " +
                      describeMultiple(least.count / most.count) + " as much on rank " +
                      toString(most.rank) +
                      ". This assumes that every token of a sequence is meant to weigh the same.",
          .remedy =
              "Sum the number of tokens over the cp ranks before dividing by it: all_reduce "
              "the sum of the mask, or count the tokens before the batch is cut."};
}

/// Returns the divisions of all ranks at one place in the code; empty when a rank lacks it.
std::vector<OwnDivision> divisionsAt(
    const std::vector<std::pair<WorldRank, std::vector<LossQuotient>>>& ranks, std::size_t index,
    std::size_t element) {
  std::vector<OwnDivision> all;
  for (const auto& [rank, quotients] : ranks) {
    const LossQuotient& quotient = quotients[index];
    if (element >= quotient.counts.size() || element >= quotient.gradients.size() ||
        quotient.microbatch != ranks.front().second[index].microbatch)
      return {};
    all.push_back({rank, quotient.counts[element], quotient.gradients[element], quotient.tokens});
  }
  return all;
}

std::optional<Finding> quotientsOf(const Trace& trace, std::int32_t train_step,
                                   const std::vector<WorldRank>& members) {
  std::vector<std::pair<WorldRank, std::vector<LossQuotient>>> ranks;
  for (const WorldRank rank : members) {
    ranks.emplace_back(rank, lossQuotients(trace, train_step, rank));
    if (ranks.back().second.size() != ranks.front().second.size()) return std::nullopt;
  }
  for (std::size_t index = 0; index < ranks.front().second.size(); ++index)
    for (std::size_t element = 0; element < ranks.front().second[index].counts.size(); ++element) {
      const std::vector<OwnDivision> divisions = divisionsAt(ranks, index, element);
      if (divisions.size() > 1 && areMeans(divisions)) return findingAt(train_step, divisions);
    }
  return std::nullopt;
}

/// Finds a variable that each rank made standard.
std::optional<Finding> standardOf(const Trace& trace, std::int32_t train_step,
                                  const std::vector<WorldRank>& members) {
  for (const StandardizedPart& part : standardizedParts(trace, train_step, members.front())) {
    std::string words;
    std::size_t ranks = 0;
    for (const WorldRank rank : members)
      for (const StandardizedPart& own : standardizedParts(trace, train_step, rank)) {
        if (own.name != part.name || own.microbatch != part.microbatch) continue;
        words += (ranks > 0 ? ", over " : "over ") + describeCount(own.count, "token") +
                 " of rank " + toString(rank);
        ++ranks;
        break;
      }
    if (members.size() < 2 || ranks != members.size()) continue;
    return Finding{
        .confidence = Confidence::kLikely,
        .title = "Each rank normalises " + part.name + " by its own tokens",
        .place = {train_step},
        .rank = members.front(),
        .buffer = part.name,
        .evidence = "When backward begins, " + part.name +
                    " has the mean 0 and the standard deviation 1 " + words +
                    (part.mask.empty() ? "" : ", under the mask " + part.mask) +
                    ": every rank took the mean and the deviation of its own shard. This "
                    "assumes that a shard is no unit of the data, as a frame is.",
        .remedy =
            "Sum the values, their squares and the number of tokens over the cp "
            "ranks before the mean and the deviation are taken, or normalise "
            "before the batch is cut."};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Finding> clippedByOwnNorm(const Trace& trace) {
  constexpr double kRounding = 2e-5;
  for (const std::int32_t train_step : stepsWithTensors(trace)) {
    const std::vector<double> norms = normsOfParts(trace, train_step);
    if (norms.size() < 2) continue;
    const auto [least, most] = std::ranges::minmax(norms);
    if (!(least > 0) || most - least > kRounding * most) continue;
    return Finding{.confidence = Confidence::kLikely,
                   .title = "Each rank clips by the norm of its own part",
                   .place = {train_step, Layer::none(), Direction::kBackward, {}},
                   .buffer = "grad_norm",
                   .evidence = "Each of " + describeCount(trace.worldSize(), "rank") +
                               " holds other parts of the gradients, and the parts that the "
                               "optimizer is given have the norm " +
                               describeSignificant(most, 4) +
                               " on every rank. Parts that one coefficient clips have different "
                               "norms.",
                   .remedy =
                       "Sum the squares of the norms over all ranks that hold parts, and "
                       "clip by the root: torch.nn.utils.clip_grad_norm_ does that for "
                       "gradients of FSDP2."};
  }
  return std::nullopt;
}

std::optional<Finding> averageOfOwnTokens(const Trace& trace) {
  if (lacksGroups(trace)) return std::nullopt;  // ranks may have sequences of their own
  for (const std::int32_t train_step : stepsWithTensors(trace))
    for (const auto& members : sequenceGroups(trace)) {
      // Ranks with documents of their own may average over these.
      if (members.size() < 2 || mayHaveOwnDocuments(trace, train_step, members)) continue;
      if (auto finding = quotientsOf(trace, train_step, members)) return finding;
      if (auto finding = standardOf(trace, train_step, members)) return finding;
    }
  return std::nullopt;
}

}  // namespace ringscope::traces
