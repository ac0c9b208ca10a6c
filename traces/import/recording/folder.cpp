// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "traces/core/error.h"
#include "traces/core/input_file.h"
#include "traces/core/json.h"
#include "traces/core/utf8.h"
#include "traces/import/format.h"
#include "traces/import/recording/lines.h"
#include "traces/query/admission.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMostLineBytes = 8'000'000;
constexpr int kVersion = 1;

/// "rank-00007.jsonl" is rank 7's.
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

/// Plain files with a rank's name; a link could lead anywhere.
std::vector<std::string> rankFiles(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    const fs::file_status status = at->symlink_status(unreadable);
    const std::string name = at->path().filename().string();
    if (!unreadable && fs::is_regular_file(status) && rankOfName(name)) found.push_back(name);
  }
  std::ranges::sort(found);
  return found;
}

/// Recordings that do not say it are older than the choice.
HashAlgorithm algorithmOf(const Line& header, const char* key, const std::string& path) {
  if (!header.has(key)) return HashAlgorithm::kMixSum64;
  const auto found = findByName<HashAlgorithm>(header.text(key));
  if (!found)
    throw inputError(path + " has hashes by '" + header.text(key) +
                     "', which this program does not know");
  return *found;
}

void readHeader(RankLines& rank, const Line& header, const std::string& path) {
  if (header.kind() != "header" || header.text("ringscope") != "recording")
    throw inputError(path + " does not begin as a recorded rank's file");
  if (header.whole("version") != kVersion)
    throw inputError(path + " has version " + std::to_string(header.whole("version")) +
                     " of the recorder's format; this program reads version " +
                     std::to_string(kVersion));
  rank.world_size =
      static_cast<int>(std::clamp<std::int64_t>(header.whole("world_size", 1), 1, kMaxRanks));
  if (header.whole("rank") != rank.rank.value() || rank.rank.value() >= rank.world_size)
    throw inputError(path + " says that it is of rank " + std::to_string(header.whole("rank")) +
                     " of " + std::to_string(rank.world_size));
  rank.hash = algorithmOf(header, "hash", path);
  rank.hash_of_parts = algorithmOf(header, "hash_of_parts", path);
  const Line clock = header.part("clock");
  rank.boot_id = clock.text("boot_id");
  rank.steady_ns = clock.whole("steady_ns", 0);
  const auto unix_ns = clock.json().find("unix_ns");  // larger than whole() takes
  if (unix_ns != clock.json().end() && unix_ns->is_number_integer())
    rank.unix_ns = unix_ns->get<std::int64_t>();
}

/// Takes whole lines in; what follows the last line break was cut.
void readLines(RankLines& rank, const std::string& text, const std::string& path) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    try {
      if (line.size() > kMostLineBytes) throw inputError(path + ": a line is too long");
      rank.lines.emplace_back(parseJson(line, path));
    } catch (const Error& error) {
      if (rank.lines.empty()) throw;
      if (rank.problems.size() < 10) rank.problems.emplace_back(toPlainText(error.what()));
      continue;
    }
    if (rank.lines.size() == 1) readHeader(rank, rank.lines.front(), path);
    if (rank.lines.back().kind() == "end") rank.ended = true;
    if (rank.lines.back().kind() == "job") rank.job = rank.lines.back().text("job");
  }
  if (begin < text.size())
    rank.problems.push_back("the last line of rank " + toString(rank.rank) + " was cut");
}

}  // namespace

bool holdsRecording(const std::string& folder) {
  return !rankFiles(folder).empty();
}

std::vector<RankLines> readRankLines(const std::string& folder) {
  std::vector<RankLines> ranks;
  for (const std::string& name : rankFiles(folder)) {
    const std::string path = (fs::path(folder) / name).string();
    RankLines rank;
    rank.rank = *rankOfName(name);
    readLines(rank, readFile(path, kMostFileBytes), path);
    if (rank.lines.empty()) throw inputError(path + " holds no whole line");
    if (!ranks.empty() &&
        (rank.world_size != ranks.front().world_size ||
         (!rank.job.empty() && !ranks.front().job.empty() && rank.job != ranks.front().job)))
      throw inputError(path + " and the file of rank " + toString(ranks.front().rank) +
                       " are not of one job");
    ranks.push_back(std::move(rank));
  }
  if (ranks.empty()) throw inputError(folder + " holds no rank's file of a recorded job");
  return ranks;
}

}  // namespace ringscope::traces
