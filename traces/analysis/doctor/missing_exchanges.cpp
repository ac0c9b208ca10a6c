// SPDX-License-Identifier: Apache-2.0
// Tokens and features that ranks must exchange outside of attention.
#include <algorithm>

#include "traces/analysis/doctor/observed_faults.h"
#include "traces/analysis/doctor/own_documents.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/observed_parts.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

/// Reports whether each rank hands its state over to the next: all ranks but the first received a
/// message outside of attention in forward.
bool handOverState(const Trace& trace, std::int32_t train_step,
                   const std::vector<WorldRank>& members) {
  const auto receives = [&](WorldRank rank) {
    return std::ranges::any_of(trace.events(rank), [&](const Event& event) {
      return event.kind == EventKind::kReceive && event.payload == Payload::kNone &&
             event.place.train_step == train_step && event.place.direction == Direction::kForward &&
             std::ranges::count(members, event.peer) > 0;
    });
  };
  return !receives(members.front()) && std::all_of(members.begin() + 1, members.end(), receives);
}

/// Reports whether the first tokens of a convolution are zeros on a rank, and no message can have
/// brought the tokens before them.
bool beginsWithZeros(const Trace& trace, std::int32_t train_step, WorldRank rank,
                     const CausalConvolution& like) {
  return std::ranges::any_of(
      causalConvolutions(trace, train_step, rank), [&](const CausalConvolution& own) {
        return own.module == like.module && own.microbatch == like.microbatch &&
               own.begins_with_zeros && !own.tail_moved &&
               !ownTokens(trace, train_step, rank, own.tokens).empty();
      });
}

}  // namespace

std::optional<Finding> convolutionWithoutHalo(const Trace& trace) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  for (const std::int32_t train_step : stepsWithTensors(trace))
    for (const auto& members : sequenceGroups(trace)) {
      // A convolution of chunks, clips or documents begins with zeros too, but hands over no state.
      if (members.size() < 2 || !handOverState(trace, train_step, members) ||
          mayHaveOwnDocuments(trace, train_step, members))
        continue;
      for (const CausalConvolution& first :
           causalConvolutions(trace, train_step, members.front())) {
        if (!std::ranges::all_of(members, [&](WorldRank rank) {
              return beginsWithZeros(trace, train_step, rank, first);
            }))
          continue;
        Finding finding{
            .confidence = Confidence::kLikely,
            .title = "No rule names it: a convolution begins with zeros on every rank",
            .place = {train_step},
            .rank = members[1],
            .buffer = first.module,
            .evidence =
                "The convolution " + first.module + " needs the " +
                describeCount(first.before, "token") + " before each one. On every one of " +
                describeCount(std::ssize(members), "rank") +
                " these are 0 for the first "
                "of the rank's " +
                describeCount(first.tokens, "token") +
                ", and no message of the forward pass is large enough to bring them, although "
                "messages hand the state of earlier tokens over from rank to rank.",
            .remedy =
                "Send the last tokens of each shard to the next rank before the convolution, put "
                "them before its own tokens, and send their gradients back in backward."};
        finding.rule = kUnknownMistake;
        return finding;
      }
    }
  return std::nullopt;
}

namespace {

/// Returns the nth scattering of features on all ranks; empty when one of them lacks it.
std::vector<ScatteredFeatures> scatteredOn(const Trace& trace, std::int32_t train_step,
                                           const std::vector<WorldRank>& members, std::size_t nth) {
  std::vector<ScatteredFeatures> all;
  for (const WorldRank rank : members) {
    const auto own = scatteredFeatures(trace, train_step, rank);
    if (nth >= own.size() || ownTokens(trace, train_step, rank, own[nth].tokens).empty()) return {};
    all.push_back(own[nth]);
  }
  return all;
}

/// Reports whether ranks use first parts of the same features, for which they have places together.
bool useFirstParts(const std::vector<ScatteredFeatures>& ranks) {
  std::int64_t used = 0, with_some = 0;
  for (const ScatteredFeatures& own : ranks) {
    if (own.hash.empty() || own.hash != ranks.front().hash || own.rows != ranks.front().rows)
      return false;
    used += own.used;
    with_some += own.used > 0 ? 1 : 0;
  }
  return with_some > 1 && used == ranks.front().rows;
}

}  // namespace

std::optional<Finding> featuresFromTheFirst(const Trace& trace) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  for (const std::int32_t train_step : stepsWithTensors(trace))
    for (const auto& members : sequenceGroups(trace))
      for (std::size_t nth = 0; members.size() > 1; ++nth) {
        const auto ranks = scatteredOn(trace, train_step, members, nth);
        if (ranks.empty()) break;
        if (!useFirstParts(ranks)) continue;
        Finding finding{
            .confidence = Confidence::kLikely,
            .title = "Every rank scatters the features of media from the first one on",
            .place = {train_step},
            .rank = members[1],
            .buffer = "inputs_embeds",
            .evidence = "All ranks have the same " + describeCount(ranks[0].rows, "feature row") +
                        ". Rank " + toString(members[0]) + " puts the first " +
                        describeCount(ranks[0].used) +
                        " among the embeddings of its tokens, and "
                        "rank " +
                        toString(members[1]) + " the first " + describeCount(ranks[1].used) +
                        " too. Together the ranks have places for " + describeCount(ranks[0].rows) +
                        ", so later ranks get features of earlier tokens.",
            .remedy =
                "Scatter the features into the embeddings of the whole sequence before these are "
                "cut, or begin on each rank with the feature of its first media token."};
        finding.rule = "media_cut_wrongly";
        return finding;
      }
  return std::nullopt;
}

}  // namespace ringscope::traces
