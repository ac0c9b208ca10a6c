// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/token_chains.h"

#include <cstddef>
#include <optional>

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostRuns = 256;

/// Tokens of one rank that follow each other, [begin, end) of its shard.
struct Run {
  std::size_t rank = 0;
  std::int64_t begin = 0, end = 0;
};

/// Reports whether the targets at `place` of a rank are the tokens at `next_place` of another, in
/// each row that has a target; nullopt when no row has one.
std::optional<bool> follows(const OwnTokens& own, std::int64_t place, const OwnTokens& next,
                            std::int64_t next_place) {
  bool compared = false;
  for (std::int64_t row = 0; row < own.rows; ++row) {
    const auto target = (*own.targets)[static_cast<std::size_t>(row * own.width() + place)];
    if (target == own.ignored) continue;
    compared = true;
    if (target != (*next.ids)[static_cast<std::size_t>(row * next.width() + next_place)])
      return false;
  }
  return compared ? std::optional(true) : std::nullopt;
}

/// Returns the runs of all ranks. Tokens without targets continue a run.
std::vector<Run> runsOf(const std::vector<OwnTokens>& ranks) {
  std::vector<Run> runs;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const OwnTokens& own = ranks[rank];
    std::int64_t begin = 0;
    for (std::int64_t place = 0; place < own.width(); ++place) {
      const bool is_last = place + 1 == own.width();
      if (!is_last && follows(own, place, own, place + 1).value_or(true)) continue;
      runs.push_back({rank, begin, place + 1});
      begin = place + 1;
      if (runs.size() > kMostRuns) return {};
    }
  }
  return runs;
}

/// Returns for each run the one that follows it; nothing when a run is followed by several, or
/// follows several.
std::vector<std::optional<std::size_t>> successors(const std::vector<OwnTokens>& ranks,
                                                   const std::vector<Run>& runs) {
  std::vector<std::optional<std::size_t>> next(runs.size());
  std::vector<bool> is_taken(runs.size());
  for (std::size_t at = 0; at < runs.size(); ++at)
    for (std::size_t to = 0; to < runs.size(); ++to) {
      const Run &own = runs[at], &other = runs[to];
      if (!follows(ranks[own.rank], own.end - 1, ranks[other.rank], other.begin).value_or(false))
        continue;
      if (next[at] || is_taken[to]) return {};
      next[at] = to;
      is_taken[to] = true;
    }
  return next;
}

}  // namespace

std::vector<std::vector<std::int64_t>> tokensByChain(const std::vector<OwnTokens>& ranks) {
  for (const OwnTokens& own : ranks)
    if (own.rows != ranks.front().rows || own.width() == 0 ||
        own.targets->size() != own.ids->size())
      return {};
  const std::vector<Run> runs = runsOf(ranks);
  const auto next = successors(ranks, runs);
  if (runs.size() < ranks.size() || next.empty()) return {};
  std::vector<bool> has_before(runs.size());
  for (const auto& to : next)
    if (to) has_before[*to] = true;
  std::optional<std::size_t> at;
  for (std::size_t run = 0; run < runs.size(); ++run)
    if (!has_before[run]) {
      if (at) return {};
      at = run;
    }
  std::vector<std::vector<std::int64_t>> tokens;
  tokens.reserve(ranks.size());
  for (const OwnTokens& own : ranks) tokens.emplace_back(static_cast<std::size_t>(own.width()));
  std::int64_t token = 0;
  std::size_t seen = 0;
  for (; at && seen < runs.size(); ++seen) {
    const Run& run = runs[*at];
    for (std::int64_t place = run.begin; place < run.end; ++place)
      tokens[run.rank][static_cast<std::size_t>(place)] = token++;
    at = next[*at];
  }
  return seen == runs.size() && !at ? tokens : std::vector<std::vector<std::int64_t>>();
}

}  // namespace ringscope::traces
