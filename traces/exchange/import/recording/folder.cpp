// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "traces/exchange/import/format.h"
#include "traces/exchange/import/plain_files.h"
#include "traces/exchange/import/recording/rank_file.h"
#include "traces/exchange/import/recording/values.h"
#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

std::string nameOf(const std::string& path) {
  return fs::path(path).filename().string();
}

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

std::vector<std::string> rankFiles(const std::string& folder) {
  return plainFiles(folder,
                    [](const std::string& path) { return rankOfName(nameOf(path)).has_value(); });
}

bool areOfOneJob(const RankLines& a, const RankLines& b) {
  return a.world_size == b.world_size && (a.job.empty() || b.job.empty() || a.job == b.job);
}

}  // namespace

std::vector<std::string> filesOfRecording(const std::string& folder) {
  std::vector<std::string> files = rankFiles(folder);
  if (files.empty()) return files;
  const auto is_of_values = [](const std::string& path) { return isFileOfValues(nameOf(path)); };
  for (std::string& path : plainFiles(folder, is_of_values)) files.push_back(std::move(path));
  return files;
}

std::vector<RankLines> readRankFiles(const std::string& folder) {
  std::vector<RankLines> ranks;
  std::vector<std::string> problems;
  for (const std::string& path : rankFiles(folder)) {
    RankLines rank = readRankFile(path, *rankOfName(nameOf(path)));
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
