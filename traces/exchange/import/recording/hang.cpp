// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/waits/hang_of_ranks.h"
#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/json.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

constexpr std::uint64_t kMostVerdictBytes = 16 << 20;

/// Returns the last line in which the rank reported a stall, or null when it has resumed since.
/// After a wait that ended in an error, a rank has resumed if it ended a training step. A rank that
/// recorded its end has resumed unless it waited for another rank.
const Line* openStall(const RankLines& rank) {
  const Line* open = nullptr;
  for (const Line& line : rank.lines) {
    if (line.kind() == "stalled") open = &line;
    if (line.kind() == "resumed" || (line.kind() == "step" && open && open->flag("broken")))
      open = nullptr;
    if (line.kind() == "end" && open && !open->flag("broken") && !open->has("in")) open = nullptr;
  }
  return open;
}

/// Returns the time after which this rank's recorder reports a stall, in nanoseconds.
std::int64_t stallTime(const RankLines& rank) {
  constexpr std::int64_t kDefaultNs = 5'000'000'000;
  std::int64_t after = kDefaultNs;
  for (const Line& line : rank.lines) {
    if (line.kind() == "watched") after = line.whole("stalled_after_ns", after);
    if (line.kind() == "resumed") after = line.whole("after_ns", after);
  }
  return after;
}

RankSeen seenOf(const RankLines& rank) {
  RankSeen seen;
  seen.rank = rank.rank;
  const Line* stall = openStall(rank);
  seen.here = stall != nullptr;
  // The rank did not get past a wait that ended in an error.
  seen.ended = rank.ended && !(stall && findEnding(rank).how == HowEnded::kFailed);
  if (stall)
    seen.standing = Standing::of(*stall);
  else if (!seen.ended)
    seen.unseen = "did not record that it stood still: it was at work, or had been killed before";
  return seen;
}

std::vector<RankSeen> seenRanks(const RecordedJob& job) {
  std::vector<RankSeen> seen;
  for (const RankLines& rank : job.ranks) seen.push_back(seenOf(rank));
  for (int number = 0; number < job.ranks.front().world_size; ++number) {
    const auto has = [&](const RankSeen& rank) { return rank.rank == WorldRank::of(number); };
    if (std::ranges::any_of(seen, has)) continue;
    seen.emplace_back().rank = WorldRank::of(number);
    seen.back().unseen = "has no file in the recording";
  }
  return seen;
}

/// Reports whether the wait of a rank ended in an error.
bool hasBroken(const std::vector<RankSeen>& seen) {
  return std::ranges::any_of(seen, [](const RankSeen& one) { return one.standing.broken; });
}

/// Reports whether a wait broke because another rank had failed by itself.
bool followsFromFailure(const RecordedJob& job, const std::vector<RankSeen>& seen) {
  return hasBroken(seen) && std::ranges::any_of(job.ranks, failedByItself);
}

/// Reports whether a hang was concluded too early: a rank that was at work may have arrived a
/// moment later. It did not arrive if its recorder had time to report a stall and reported none.
bool isTooEarly(const RecordedJob& job, const std::vector<RankSeen>& seen, const Hang& hang) {
  if (hang.certain || hasBroken(seen)) return false;
  for (const RankLines& rank : job.ranks)
    for (const RankSeen& one : seen)
      if (one.rank == rank.rank && !one.unseen.empty() && hang.waited_ns < 2 * stallTime(rank))
        return true;
  return false;
}

/// The calls of each rank in a group, in order. Messages are left out, because their order is
/// separate.
using Calls = std::map<std::pair<std::string, std::vector<WorldRank>>,
                       std::map<WorldRank, std::vector<std::pair<std::string, std::int32_t>>>>;

Calls recordedCalls(const RecordedJob& job) {
  Calls calls;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      const std::string operation = line.kind() == "collective" ? line.text("operator") : "";
      if (operation.empty() || operation == "send" || operation == "receive") continue;
      const std::string group = line.text("group");
      calls[{group, rank.findMembers(group)}][rank.rank].emplace_back(
          operation, line.place(Direction::kForward).train_step);
    }
  return calls;
}

/// Reports whether a file has all calls. A missing call would make all later calls look different.
bool hasAllCalls(const RankLines& rank) {
  const bool whole = std::ranges::all_of(
      rank.problems, [](const std::string& problem) { return problem.ends_with(" was cut"); });
  return whole && std::ranges::none_of(rank.lines, [](const Line& line) {
           return line.kind() == "trouble" || line.kind() == "limit" || line.kind() == "full";
         });
}

/// Returns the first place where ranks of a group recorded different collectives. No minimum
/// waiting time applies, because none of these ranks can have continued.
std::optional<Hang> firstDifferentCall(const RecordedJob& job) {
  if (!std::ranges::all_of(job.ranks, hasAllCalls)) return std::nullopt;
  for (const auto& [group, by_rank] : recordedCalls(job)) {
    std::size_t most = 0;
    for (const auto& [rank, calls] : by_rank) most = std::max(most, calls.size());
    for (std::size_t nth = 0; nth < most; ++nth) {
      std::map<std::string, std::vector<WorldRank>> by_operation;
      for (const auto& [rank, calls] : by_rank)
        if (nth < calls.size()) by_operation[calls[nth].first].push_back(rank);
      if (by_operation.size() < 2) continue;
      const auto odd = std::ranges::min_element(by_operation, {},
                                                [](const auto& one) { return one.second.size(); });
      Hang hang;
      hang.certain = hang.different = true;
      hang.rank = odd->second.front();
      hang.train_step = by_rank.at(hang.rank)[nth].second;
      std::string words = "call " + std::to_string(nth + 1) + " of group " + group.first + " is ";
      for (const auto& [operation, ranks] : by_operation)
        words += (operation == by_operation.begin()->first ? "" : ", and ") + operation + " on " +
                 describeRanks(ranks);
      hang.lines.push_back(words);
      return hang;
    }
  }
  return std::nullopt;
}

/// Returns the last verdict of a listener, unless the job went on afterwards.
std::optional<Hang> listenersVerdict(const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string path = folder + "/" + kListenerFile;
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)) || error) return std::nullopt;
  std::optional<Hang> last;
  const std::string text = readFile(path, kMostVerdictBytes);
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    const nlohmann::json line = parseJson(text.substr(begin, end - begin), path);
    if (!line.is_object() || !line.contains("line")) continue;
    if (line["line"] == "waits") last = hangFrom(line);
    if (line["line"] == "goes on") last.reset();
  }
  if (last) last->by_listener = true;
  return last;
}

}  // namespace

bool failedByItself(const RankLines& rank) {
  return findEnding(rank).how == HowEnded::kFailed && !openStall(rank);
}

std::vector<Hang> hangsIn(RecordedJob& job) {
  std::vector<Hang> hangs;
  const std::vector<RankSeen> seen = seenRanks(job);
  if (std::ranges::all_of(seen, &RankSeen::ended)) return hangs;
  if (followsFromFailure(job, seen)) return hangs;
  if (auto hang = hangOfRanks(seen); hang && !isTooEarly(job, seen, *hang))
    hangs.push_back(*std::move(hang));
  else if (auto call = firstDifferentCall(job))
    hangs.push_back(*std::move(call));
  try {
    if (auto verdict = listenersVerdict(job.folder)) hangs.push_back(*std::move(verdict));
  } catch (const Error& damaged) {
    job.problems.emplace_back(damaged.what());
  }
  return hangs;
}

std::string whyNoHang(const RecordedJob& job) {
  std::int64_t longest = 0;
  for (const RankLines& rank : job.ranks) {
    const bool watched =
        std::ranges::any_of(rank.lines, [](const Line& line) { return line.kind() == "watched"; });
    if (!watched || openStall(rank)) return "";
    longest = std::max(longest, stallTime(rank));
  }
  return "; no rank had stood still for " + describeDuration(longest) +
         ", so the job was stopped while it ran";
}

}  // namespace ringscope::traces
