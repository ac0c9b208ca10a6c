// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/repeated_keys.h"

#include <algorithm>
#include <span>
#include <vector>

#include "traces/analysis/doctor/attended_blocks.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kFewCommonTokens = 4, kMostSampledRows = 8;

bool isSameRow(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b);
}

/// Reports whether the keys and values of a token are the same on all ranks, in all heads and batch
/// entries.
bool isCommon(const std::vector<AttendedBlock>& ranks, std::size_t token) {
  const AttendedBlock& first = ranks.front();
  for (const AttendedBlock& other : ranks)
    for (std::size_t entry = 0; entry < first.k.entries(); ++entry)
      for (std::size_t head = 0; head < first.k.heads(); ++head)
        if (!isSameRow(first.k.at(entry, head, token), other.k.at(entry, head, token)) ||
            !isSameRow(first.v.at(entry, head, token), other.v.at(entry, head, token)))
          return false;
  return true;
}

/// Returns the number of first tokens that all ranks have alike; 0 when they do not differ among
/// each other, as padding does not.
std::size_t commonTokens(const std::vector<AttendedBlock>& ranks) {
  const TokenRows& k = ranks.front().k;
  std::size_t common = 0;
  while (common < k.tokens() && isCommon(ranks, common)) ++common;
  for (std::size_t token = 1; token < common; ++token)
    if (isSameRow(k.at(0, 0, token), k.at(0, 0, token - 1))) return 0;
  return common == k.tokens() ? 0 : common;
}

/// Reports whether the keys of each rank are its own tokens, as the recorded layout shows them, and
/// the common ones. Otherwise the common keys may be tokens of each rank, such as the first ones of
/// each frame.
bool haveCommonBesideOwn(const Trace& trace, std::int32_t train_step,
                         const std::vector<AttendedBlock>& ranks, std::size_t common) {
  return std::ranges::all_of(ranks, [&](const AttendedBlock& rank) {
    const auto keys = static_cast<std::int64_t>(rank.k.tokens()),
               shared = static_cast<std::int64_t>(common);
    return !ownTokens(trace, train_step, rank.rank, keys - shared).empty() &&
           ownTokens(trace, train_step, rank.rank, keys).empty();
  });
}

/// Returns how far a recorded row is from attention of all ranks' keys. The first `once` tokens
/// count on the first rank alone.
double distanceFrom(const std::vector<AttendedBlock>& ranks, const AttendedBlock& own,
                    std::size_t head, std::size_t token, std::size_t once) {
  const std::size_t kv = head / (own.q.heads() / own.k.heads());
  PartialRow row;
  for (const AttendedBlock& rank : ranks)
    row.add(attendPart(own.q.at(0, head, token), rank, rank, 0, kv,
                       &rank == &ranks.front() ? 0 : once, rank.k.tokens()));
  return row.distance(own.out.at(0, head, token));
}

/// Reports whether all sampled rows agree with keys that count on every rank, and none does with
/// keys that count once.
bool countsOnEveryRank(const std::vector<AttendedBlock>& ranks, std::size_t common,
                       double tolerance) {
  for (const AttendedBlock& own : ranks) {
    const std::size_t step = std::max<std::size_t>(1, own.q.tokens() / kMostSampledRows);
    for (std::size_t token = 0; token < own.q.tokens(); token += step)
      for (const std::size_t head : {std::size_t{0}, own.q.heads() - 1})
        if (!(distanceFrom(ranks, own, head, token, 0) <= tolerance) ||
            !(distanceFrom(ranks, own, head, token, common) > tolerance))
          return false;
  }
  return true;
}

Finding findingAt(const Place& place, const std::vector<WorldRank>& members, std::size_t common) {
  const std::string tokens = describeCount(static_cast<std::int64_t>(common), "token");
  Finding finding{.confidence = Confidence::kLikely,
                  .title = "No rule names it: keys that all ranks have count once per rank",
                  .place = place,
                  .rank = members[1],
                  .buffer = "k",
                  .evidence = "The keys and values of the first " + tokens + " are the same on " +
                              describeCount(std::ssize(members), "rank") +
                              ". The recorded output agrees with attention that counts them once "
                              "for every rank, and with none that counts them once.",
                  .remedy =
                      "Leave tokens that every rank has out of what the ranks exchange: gather the "
                      "keys of the shards alone, and put the common keys before them once."};
  finding.rule = kUnknownMistake;
  return finding;
}

}  // namespace

std::optional<Finding> keysCountedOnEveryRank(const Trace& trace) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  for (const Place& place : firstAttentions(trace, 2))
    for (const auto& members : sequenceGroups(trace))
      for (const bool tokens_first : {false, true}) {
        const auto ranks = readBlocksAt(trace, place, members, tokens_first);
        if (ranks.size() < 2) continue;
        const std::size_t common = commonTokens(ranks);
        if (common >= kFewCommonTokens &&
            haveCommonBesideOwn(trace, place.train_step, ranks, common) &&
            countsOnEveryRank(ranks, common, rowTolerance(trace, place)))
          return findingAt(place, members, common);
      }
  return std::nullopt;
}

}  // namespace ringscope::traces
