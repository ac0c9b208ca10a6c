// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/wrong_rows.h"

#include <algorithm>

#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// Collects the rows that a diff's codes say are wrong, run by run.
struct WrongRowsOfDiff {
  explicit WrongRowsOfDiff(const RowRatios& rows)
      : rows_a_code(rows.rows_a_code),
        length(std::max<std::int64_t>(1, rows.shape.back())),
        head_count(rows.shape.size() == 3 ? std::max<std::int64_t>(1, rows.shape[1]) : 1) {
    for (const std::int64_t extent : rows.shape) all *= extent;
  }

  void add(std::int64_t code) {
    const std::int64_t begin = code * rows_a_code, end = std::min(all, begin + rows_a_code),
                       first = begin / length, last = (end - 1) / length;
    wrong += end - begin;
    if (last > first + 1) {
      tokens.push_back({0, length});
    } else {
      tokens.push_back({begin % length, last > first ? length : (end - 1) % length + 1});
      if (last > first) tokens.push_back({0, (end - 1) % length + 1});
    }
    if (last - first >= head_count) heads = {{0, head_count}};
    for (std::int64_t row = first; row <= last && last - first < head_count; ++row)
      heads.push_back({row % head_count, row % head_count + 1});
  }

  std::int64_t rows_a_code, length, head_count, all = 1, wrong = 0;
  std::vector<TokenRun> tokens, heads;
};

WrongRowsOfDiff wrongRowsOf(const DiffRecord& diff) {
  WrongRowsOfDiff found(diff.rows);
  for (std::size_t i = 0; i < diff.rows.codes.size(); ++i)
    if (RowRatios::decode(diff.rows.codes[i]) > 1) found.add(static_cast<std::int64_t>(i));
  return found;
}

/// The group rank of its members that is the same for all wrong rows, if each of `count` has an
/// equal part of `extent`; nothing where it is not.
std::optional<int> onlyPart(const std::vector<TokenRun>& wrong, std::int64_t extent, int count) {
  const std::int64_t each = extent / std::max(1, count);
  if (wrong.empty() || each == 0 || extent % count != 0) return std::nullopt;
  const std::int64_t part = wrong.front().begin / each;
  const bool all = std::ranges::all_of(wrong, [&](const TokenRun& run) {
    return run.begin / each == part && (run.end - 1) / each == part;
  });
  return all ? std::optional(static_cast<int>(part)) : std::nullopt;
}

/// The place of a rank among those of its group of an axis; nothing where no group is recorded.
std::optional<int> placeIn(const Trace& trace, WorldRank rank, GroupAxis axis) {
  const GroupRecord* group = trace.groupContaining(rank, axis);
  if (!group) return std::nullopt;
  return static_cast<int>(std::ranges::find(group->members, rank) - group->members.begin());
}

}  // namespace

/// "token 3", "tokens 16–19, 24 and 2 more ranges".
std::string runWords(const std::string& noun, const std::vector<TokenRun>& runs) {
  constexpr std::size_t kMost = 4;
  const bool one = runs.size() == 1 && runs[0].end - runs[0].begin == 1;
  std::string words = one ? noun : noun + "s";
  for (std::size_t i = 0; i < std::min(runs.size(), kMost); ++i) {
    words += (i ? ", " : " ") + std::to_string(runs[i].begin);
    if (runs[i].end - runs[i].begin > 1) words += "–" + std::to_string(runs[i].end - 1);
  }
  if (runs.size() > kMost)
    words += " and " + describeCount(static_cast<std::int64_t>(runs.size() - kMost), "more range");
  return words;
}

std::string rankWords(const std::vector<WorldRank>& ranks) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(ranks.size());
  for (const WorldRank rank : ranks) numbers.push_back(rank.value());
  return runWords("rank", toRuns(numbers));
}

std::optional<std::size_t> worstCpRank(const DiffRecord& diff) {
  const bool has_tokens =
      diff.place.layer.exists() || diff.tensor == "logits" || diff.tensor == "rotary";
  if (!has_tokens || diff.ratio_by_rank.size() < 2) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::max_element(diff.ratio_by_rank) -
                                  diff.ratio_by_rank.begin());
}

WorldRank rankOfWorstRow(const Trace& trace, const DiffRecord& diff) {
  const auto cp = worstCpRank(diff);
  const RunSpec* run = trace.run();
  if (!cp || !run) return WorldRank::none();
  // A diff is of a whole step, so its parts are of no one group when groups change.
  if (!trace.microbatchGroups().empty()) return WorldRank::none();
  if (run->dp * run->tp == 1) return WorldRank::of(static_cast<int>(*cp));
  if (diff.rows.shape.size() != 3 || diff.rows.rows_a_code <= 0 || diff.worst_index.size() != 3 ||
      diff.rows.shape[0] < run->dp)
    return WorldRank::none();
  const auto dp = static_cast<int>(diff.worst_index[0] / (diff.rows.shape[0] / run->dp));
  std::optional<int> tp = 0;
  if (run->tp > 1)
    tp = diff.place.layer.exists() ? onlyPart(wrongRowsOf(diff).heads, diff.rows.shape[1], run->tp)
                                   : std::nullopt;
  for (const auto& members : sequenceGroups(trace))
    if (*cp < members.size() && placeIn(trace, members[*cp], GroupAxis::kDp) == dp &&
        placeIn(trace, members[*cp], GroupAxis::kTp) == tp)
      return members[*cp];
  return WorldRank::none();
}

std::string wrongRowsWords(const DiffRecord& diff) {
  const RowRatios& rows = diff.rows;
  if (rows.shape.empty() || rows.rows_a_code <= 0) return "";
  const WrongRowsOfDiff found = wrongRowsOf(diff);
  if (found.wrong == 0 || found.all == 1) return "";  // a single number has no rows
  const std::string of = describeCount(found.wrong) + " of " + describeCount(found.all, "row");
  const bool of_tokens = diff.place.layer.exists() || diff.tensor == "logits";
  return (rows.rows_a_code == 1 ? of + (found.wrong == 1 ? " is wrong: " : " are wrong: ")
                                : "The wrong rows are among " + of + ": ") +
         (rows.shape.size() == 3 ? runWords("head", joinedRuns(found.heads)) + ", " : "") +
         runWords(of_tokens ? "token" : "row", joinedRuns(found.tokens)) + ".";
}

}  // namespace ringscope::traces
