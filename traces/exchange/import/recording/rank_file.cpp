// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/rank_file.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_set>

#include "traces/format/core/checksum.h"
#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;
constexpr std::int64_t kMostLineBytes = 8'000'000;
constexpr int kVersion = 1;

/// Removes the next complete line from a text and returns it; nullopt when the rest is an
/// incomplete line.
std::optional<std::string_view> takeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

/// The number of unreadable lines of a file, and what is wrong with the first.
struct UnreadableLines {
  std::int64_t count = 0;
  std::string first;

  void add(const std::string& what) {
    if (count++ == 0) first = what;
  }
  void say(RankLines& rank) const {
    if (count > 0)
      rank.problems.push_back(describeCount(count, "line") + " of rank " + toString(rank.rank) +
                              " cannot be read; the first is " + first);
  }
};

/// Reads a line; nullopt when it cannot be read.
std::optional<Line> readLine(const std::shared_ptr<const std::string>& whole, std::string_view text,
                             std::int64_t number, UnreadableLines& unreadable) {
  const std::string name = "line " + std::to_string(number);
  try {
    if (std::ssize(text) <= kMostLineBytes) return Line::read(whole, text, name);
    unreadable.add(name + ": has more than " + describeCount(kMostLineBytes, "byte"));
  } catch (const Error& error) {
    unreadable.add(error.what());
  }
  return std::nullopt;
}

/// Returns the hash algorithm. Older recordings, which do not name one, use mixsum64.
HashAlgorithm algorithmOf(const Line& header, const char* key, const std::string& path) {
  if (!header.has(key)) return HashAlgorithm::kMixSum64;
  const auto found = findByName<HashAlgorithm>(header.text(key));
  if (!found)
    throw inputError(path + " has hashes by '" + header.text(key) +
                     "', which this program does not know");
  return *found;
}

void readHeader(RankLines& rank, const Line& header, const std::string& path) {
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
  const nlohmann::json all = clock.json();
  const auto unix_ns = all.find("unix_ns");  // exceeds the range of whole()
  if (unix_ns != all.end() && unix_ns->is_number_integer())
    rank.unix_ns = unix_ns->get<std::int64_t>();
}

void take(RankLines& rank, Line line) {
  if (line.kind() == "end") rank.ended = true;
  if (line.kind() == "job") rank.job = line.text("job");
  if (line.kind() == "group") rank.groups.try_emplace(line.text("name"), line.ranks("members"));
  rank.lines.push_back(std::move(line));
}

/// Reads the lines after the header.
void readLines(RankLines& rank, const std::shared_ptr<const std::string>& whole,
               std::string_view rest) {
  UnreadableLines unreadable;
  std::int64_t number = 1;
  while (const auto text = takeLine(rest)) {
    auto line = readLine(whole, *text, ++number, unreadable);
    if (line && line->kind() == "header") {
      rank.problems.push_back("the file of rank " + toString(rank.rank) + " begins again in line " +
                              std::to_string(number) +
                              "; what follows is of another recording and is left out");
      rest = {};
    } else if (line) {
      take(rank, *std::move(line));
    }
  }
  unreadable.say(rank);
  if (!rest.empty())
    rank.problems.push_back("the last line of rank " + toString(rank.rank) + " was cut");
}

/// Reports whether a line has a time or a number of its own, so that no two lines are equal.
bool isUnique(const Line& line) {
  constexpr std::array<std::string_view, 10> kKinds = {
      "attention", "attention_end", "block", "clip",   "collective",
      "hop",       "memory",        "merge", "tensor", "waited"};
  return std::ranges::find(kKinds, line.kind()) != kKinds.end();
}

bool mayRepeat(const std::vector<Line>& lines) {
  std::vector<std::uint64_t> sums;
  sums.reserve(lines.size());
  for (const Line& line : lines)
    if (isUnique(line)) sums.push_back(checksum(line.written().data(), line.written().size()));
  std::ranges::sort(sums);
  return std::ranges::adjacent_find(sums) != sums.end();
}

/// Removes repeated lines, which a file assembled from copies may have.
void dropRepeated(RankLines& rank) {
  if (!mayRepeat(rank.lines)) return;
  std::unordered_set<std::string_view> seen;
  const auto repeated = std::erase_if(rank.lines, [&](const Line& line) {
    return isUnique(line) && !seen.insert(line.written()).second;
  });
  rank.problems.push_back(describeCount(static_cast<std::int64_t>(repeated), "line") + " of rank " +
                          toString(rank.rank) + " repeat earlier ones and are left out");
}

}  // namespace

std::vector<WorldRank> RankLines::findMembers(const std::string& group) const {
  const auto found = groups.find(group);
  return found == groups.end() ? std::vector<WorldRank>() : found->second;
}

RankLines readRankFile(const std::string& path, WorldRank rank) {
  RankLines read;
  read.rank = rank;
  const auto whole = std::make_shared<const std::string>(readFile(path, kMostFileBytes));
  std::string_view rest(*whole);
  const auto first = takeLine(rest);
  if (!first) {
    read.problems.push_back(path + " holds no whole line");
    return read;
  }
  UnreadableLines unreadable;
  auto header = readLine(whole, *first, 1, unreadable);
  if (!header || header->kind() != "header" || header->text("ringscope") != "recording") {
    read.problems.push_back(path + " does not begin as a recorded rank's file");
    return read;
  }
  readHeader(read, *header, path);
  constexpr std::size_t kUsualLineBytes = 256;
  read.lines.reserve(whole->size() / kUsualLineBytes + 1);
  read.lines.push_back(*std::move(header));
  readLines(read, whole, rest);
  dropRepeated(read);
  return read;
}

void leaveOutWithTensors(RankLines& rank, const std::function<bool(const Line&)>& is_left_out) {
  std::set<std::int64_t> tensors;
  for (const Line& line : rank.lines) {
    if (!is_left_out(line)) continue;
    const nlohmann::json all = line.part("tensors").json();
    for (const auto& [what, id] : all.items())
      if (id.is_number_integer()) tensors.insert(id.get<std::int64_t>());
  }
  std::erase_if(rank.lines, [&](const Line& line) {
    return is_left_out(line) || (line.kind() == "tensor" && tensors.contains(line.whole("id")));
  });
}

}  // namespace ringscope::traces
