// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/exchange/lines/lines.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

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
  std::map<std::string, std::vector<WorldRank>> groups;  ///< world ranks in group order
  std::vector<std::string> problems;

  /// World ranks of a process group, in its order; empty where it was not recorded.
  std::vector<WorldRank> membersOf(const std::string& group) const;
};

/// Reads the file of a rank. Lines that cannot be read, and those that are there twice, are left
/// out, as is what follows a second header. A file that does not begin as one, or has no whole
/// line, has no lines. Throws inputError where the file cannot be read, or is of another version or
/// rank.
RankLines readRankFile(const std::string& path, WorldRank rank);

/// The rank files of a folder, by rank. Links and everything that is no plain file are passed over,
/// as are files without lines. Throws inputError where none can be read, or where two are of
/// different jobs.
std::vector<RankLines> readRankFiles(const std::string& folder);

}  // namespace ringscope::traces
