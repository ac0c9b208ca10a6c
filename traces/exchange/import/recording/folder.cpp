// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "traces/exchange/import/format.h"
#include "traces/exchange/import/recording/rank_file.h"
#include "traces/exchange/import/recording/values.h"
#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

/// Returns the rank in a file's name: "rank-00007.jsonl" belongs to rank 7.
std::optional<WorldRank> rankOfName(const std::string& name) {
  const std::string begin = "rank-", end = ".jsonl";
  if (name.size() != begin.size() + 5 + end.size() || !name.starts_with(begin) ||
      !name.ends_with(end))
    return std::nullopt;
  const std::string digits = name.substr(begin.size(), 5);
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  const int rank = std::stoi(digits);
  return rank < kMaxRanks ? std::optional(WorldRank::of(rank)) : std::nullopt;
}

/// Returns the names of the plain files that `chosen` selects by name. Skips links, because a link
/// could lead anywhere.
template <typename Chosen>
std::vector<std::string> plainFiles(const std::string& folder, Chosen chosen) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    const fs::file_status status = at->symlink_status(unreadable);
    const std::string name = at->path().filename().string();
    if (!unreadable && fs::is_regular_file(status) && chosen(name)) found.push_back(name);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> rankFiles(const std::string& folder) {
  return plainFiles(folder, [](const std::string& name) { return rankOfName(name).has_value(); });
}

bool areOfOneJob(const RankLines& a, const RankLines& b) {
  return a.world_size == b.world_size && (a.job.empty() || b.job.empty() || a.job == b.job);
}

}  // namespace

std::vector<std::string> filesOfRecording(const std::string& folder) {
  std::vector<std::string> files = rankFiles(folder);
  if (files.empty()) return files;
  for (const std::string& name : plainFiles(folder, isFileOfValues)) files.push_back(name);
  for (std::string& file : files) file = (fs::path(folder) / file).string();
  return files;
}

std::vector<RankLines> readRankFiles(const std::string& folder) {
  std::vector<RankLines> ranks;
  std::vector<std::string> problems;
  for (const std::string& name : rankFiles(folder)) {
    const std::string path = (fs::path(folder) / name).string();
    RankLines rank = readRankFile(path, *rankOfName(name));
    if (rank.lines.empty()) {
      problems.insert(problems.end(), rank.problems.begin(), rank.problems.end());
      continue;
    }
    if (!ranks.empty() && !areOfOneJob(rank, ranks.front()))
      throw inputError(path + " and the file of rank " + toString(ranks.front().rank) +
                       " are not of one job");
    ranks.push_back(std::move(rank));
  }
  if (ranks.empty())
    throw inputError(problems.empty() ? folder + " holds no rank's file of a recorded job"
                                      : problems.front());
  auto& said = ranks.front().problems;
  said.insert(said.begin(), problems.begin(), problems.end());
  return ranks;
}

}  // namespace ringscope::traces
