// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/schema/place.h"
#include "traces/schema/records.h"

namespace ringscope::traces {

/// One line of a rank's file (traces/recorder/FORMAT.md). It is a stranger's: what is missing, of
/// another type or out of range reads as "none".
class Line {
 public:
  explicit Line(nlohmann::json json) : json_(std::move(json)) {}

  bool has(const char* key) const;
  /// A whole number from 0 to 2^53; `none` for everything else.
  std::int64_t whole(const char* key, std::int64_t none = -1) const;
  std::optional<double> real(const char* key) const;
  bool flag(const char* key) const;
  std::string text(const char* key) const;
  /// An object in it; an empty line where there is none.
  Line part(const char* key) const;
  std::vector<std::int64_t> wholes(const char* key) const;
  /// [[b, e], …]; empty where one of them is none.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs(const char* key) const;
  std::vector<std::string> texts(const char* key) const;
  /// A rank of the job; none where there is none.
  WorldRank rank(const char* key) const;
  /// A list of them, in which some may be none.
  std::vector<WorldRank> ranks(const char* key) const;
  const nlohmann::json& json() const { return json_; }
  /// A number of 16 hexadecimal digits; nothing for everything else.
  std::optional<std::uint64_t> hash(const char* key) const;

  /// What kind of line it is.
  std::string kind() const { return text("line"); }
  /// The training step, layer and ring step that it names; the direction is the caller's.
  Place place(Direction direction) const;

 private:
  const nlohmann::json* at(const char* key) const;
  nlohmann::json json_;
};

/// What one rank wrote, line by line. Damage is said in `problems`.
struct RankLines {
  WorldRank rank = WorldRank::of(0);
  int world_size = 1;
  bool ended = false;  ///< it has its last line
  std::string boot_id;
  std::int64_t steady_ns = 0, unix_ns = 0;  ///< when its clock was 0
  /// By what the hashes of its tensors were computed, and those that parts of them add up to.
  HashAlgorithm hash = HashAlgorithm::kMixSum64, hash_of_parts = HashAlgorithm::kMixSum64;
  std::string job;  ///< what all ranks of a job share; empty: not known
  std::vector<Line> lines;
  std::vector<std::string> problems;

  /// World ranks of a process group, in its order; empty where it was not recorded.
  std::vector<WorldRank> membersOf(const std::string& group) const;
};

/// The rank files of a folder, by rank. Links and everything that is no plain file are passed over.
/// Throws inputError where none can be read, or where two are of different jobs.
std::vector<RankLines> readRankLines(const std::string& folder);

}  // namespace ringscope::traces
