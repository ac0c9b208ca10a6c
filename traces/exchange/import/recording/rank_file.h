// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "traces/exchange/lines/lines.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// The lines that one rank wrote. Damage is described in `problems`.
struct RankLines {
  WorldRank rank = WorldRank::of(0);
  int world_size = 1;
  bool ended = false;  ///< the file has its last line
  std::string boot_id;
  std::int64_t steady_ns = 0, unix_ns = 0;  ///< steady and wall clock when the rank's clock was 0
  /// The hash algorithm of its tensors, and the algorithm of the hashes of parts, which add up.
  HashAlgorithm hash = HashAlgorithm::kMixSum64, hash_of_parts = HashAlgorithm::kMixSum64;
  std::string job;  ///< id that all ranks of a job share; empty: unknown
  std::vector<Line> lines;
  std::map<std::string, std::vector<WorldRank>> groups;  ///< world ranks in group order
  std::vector<std::string> problems;

  /// Returns the world ranks of a process group in its order; empty when they were not recorded.
  std::vector<WorldRank> findMembers(const std::string& group) const;
};

/// Reads the file of a rank. Leaves out lines that cannot be read, repeated lines, and everything
/// after a second header. A file without a valid header or a complete line has no lines. Throws
/// inputError when the file cannot be read, or is of another version or rank.
RankLines readRankFile(const std::string& path, WorldRank rank);

/// Reads the rank files of a folder, by rank. Skips links, everything that is no plain file, and
/// files without lines. Throws inputError when no file can be read, or when two files are of
/// different jobs.
std::vector<RankLines> readRankFiles(const std::string& folder);

/// Removes lines, and the tensors to which they refer.
void leaveOutWithTensors(RankLines& rank, const std::function<bool(const Line&)>& is_left_out);

}  // namespace ringscope::traces
