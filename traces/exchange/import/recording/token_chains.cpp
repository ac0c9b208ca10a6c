// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/token_chains.h"

#include <cstddef>
#include <optional>
#include <set>

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

/// A search for the one order of all runs in which each precedes a run that may follow it.
class RunOrder {
 public:
  RunOrder(const std::vector<OwnTokens>& ranks, const std::vector<Run>& runs)
      : followers_(runs.size()) {
    for (std::size_t at = 0; at < runs.size(); ++at)
      for (std::size_t to = 0; to < runs.size(); ++to) {
        const Run &own = runs[at], &other = runs[to];
        if (at != to &&
            follows(ranks[own.rank], own.end - 1, ranks[other.rank], other.begin).value_or(false))
          followers_[at].push_back(to);
      }
  }

  /// Returns the order; nothing when there is none, or another one, or too many to try.
  std::vector<std::size_t> find() {
    std::vector<bool> has_before(followers_.size());
    for (const auto& after : followers_)
      for (const std::size_t to : after) has_before[to] = true;
    std::vector<std::size_t> firsts;
    for (std::size_t run = 0; run < followers_.size(); ++run)
      if (!has_before[run]) firsts.push_back(run);
    if (firsts.size() > 1) return {};
    if (firsts.size() == 1) tryFrom(firsts.front());
    // Any run can be the first one when each may follow another.
    for (std::size_t run = 0; firsts.empty() && run < followers_.size(); ++run) tryFrom(run);
    return found_ == 1 && tried_ < kMostTried ? order_ : std::vector<std::size_t>();
  }

 private:
  static constexpr std::size_t kMostTried = 20'000;

  void tryFrom(std::size_t first) {
    std::vector<std::size_t> path{first};
    std::vector<std::size_t> next{0};  // by place in the path, the follower to try next
    std::vector<bool> is_in_path(followers_.size());
    is_in_path[first] = true;
    while (!path.empty() && found_ < 2 && ++tried_ < kMostTried) {
      if (path.size() == followers_.size() && next.back() == 0) {
        ++found_;
        order_ = path;
      }
      const auto& after = followers_[path.back()];
      while (next.back() < after.size() && is_in_path[after[next.back()]]) ++next.back();
      if (next.back() >= after.size()) {
        is_in_path[path.back()] = false;
        path.pop_back();
        next.pop_back();
        continue;
      }
      const std::size_t run = after[next.back()++];
      path.push_back(run);
      next.push_back(0);
      is_in_path[run] = true;
    }
  }

  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> order_;
  std::size_t found_ = 0, tried_ = 0;
};

}  // namespace

std::vector<std::vector<std::int64_t>> tokensByChain(const std::vector<OwnTokens>& ranks) {
  for (const OwnTokens& own : ranks)
    if (own.rows != ranks.front().rows || own.width() == 0 ||
        own.targets->size() != own.ids->size())
      return {};
  const std::vector<Run> runs = runsOf(ranks);
  if (runs.size() < ranks.size()) return {};
  const std::vector<std::size_t> order = RunOrder(ranks, runs).find();
  if (order.empty()) return {};
  std::vector<std::vector<std::int64_t>> tokens;
  tokens.reserve(ranks.size());
  for (const OwnTokens& own : ranks) tokens.emplace_back(static_cast<std::size_t>(own.width()));
  std::int64_t token = 0;
  for (const std::size_t at : order)
    for (std::int64_t place = runs[at].begin; place < runs[at].end; ++place)
      tokens[runs[at].rank][static_cast<std::size_t>(place)] = token++;
  return tokens;
}

std::vector<std::vector<std::int64_t>> tokensByDocuments(
    const std::vector<std::vector<std::int64_t>>& positions) {
  std::vector<std::vector<std::int64_t>> documents;  // by token of a rank, its document
  for (const auto& own : positions) {
    std::int64_t document = 0;
    auto& of_rank = documents.emplace_back();
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i > 0 && own[i] <= own[i - 1]) ++document;
      of_rank.push_back(document);
    }
  }
  std::vector<std::set<std::int64_t>> seen;
  for (std::size_t rank = 0; rank < positions.size(); ++rank) {
    if (positions[rank].empty() || documents[rank].back() != documents.front().back()) return {};
    seen.resize(static_cast<std::size_t>(documents[rank].back()) + 1);
    for (std::size_t i = 0; i < positions[rank].size(); ++i)
      if (!seen[static_cast<std::size_t>(documents[rank][i])].insert(positions[rank][i]).second)
        return {};
  }
  std::vector<std::int64_t> begins;
  std::int64_t begin = 0;
  for (const auto& document : seen) {
    if (*document.begin() != 0 || *document.rbegin() != std::ssize(document) - 1) return {};
    begins.push_back(begin);
    begin += std::ssize(document);
  }
  if (begins.size() < 2) return {};  // also without ranks
  std::vector<std::vector<std::int64_t>> tokens = positions;
  for (std::size_t rank = 0; rank < tokens.size(); ++rank)
    for (std::size_t i = 0; i < tokens[rank].size(); ++i)
      tokens[rank][i] += begins[static_cast<std::size_t>(documents[rank][i])];
  return tokens;
}

}  // namespace ringscope::traces
