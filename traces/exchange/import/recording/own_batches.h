// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {

using Tokens = std::vector<std::int64_t>;

/// The batch of one rank in a training step, from the first microbatch.
struct OwnBatch {
  RankLines* rank = nullptr;
  std::string group;  ///< of its attention
  std::string order;  ///< of ranks' tokens in its attention, a balance; empty: not recorded
  const Line* ids_line = nullptr;
  Tokens ids, targets, positions;  ///< row-major; empty: not recorded
  std::int64_t ignored = -100;

  /// Reports whether the ids are those of one packed sequence, [T].
  bool isPacked() const { return ids_line->wholes("shape").size() == 1; }
  std::int64_t rows() const { return isPacked() ? 1 : ids_line->wholes("shape").front(); }
  std::int64_t tokens() const { return std::ssize(ids) / rows(); }
};

/// Returns the batches of all ranks by training step. Returns none if the job named a buffer, or if
/// the group of a rank's attention is not known.
std::map<std::int32_t, std::vector<OwnBatch>> readOwnBatches(RecordedJob& job);

}  // namespace ringscope::traces
