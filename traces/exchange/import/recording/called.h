// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/exchange/import/recording/rank_file.h"
#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// The mask of an attention. It is unknown (nullopt) for a mask given as numbers and for a mask
/// function that was not evaluated.
struct AttendedMask {
  std::optional<MaskKind> kind;
  std::int64_t window = 0;          ///< for kWindow: keys that a query sees, itself included
  std::vector<TokenRun> documents;  ///< for kDocuments, as rows of the attention

  bool operator==(const AttendedMask&) const = default;
};

/// The arguments that all recorded attention calls agree on.
struct Called {
  bool any = false, recomputed = false;
  bool ring = false;        ///< computed over the ranks of a group
  bool by_job = false;      ///< computed by the job itself
  bool recognised = false;  ///< computed by the job itself, without annotations
  bool own_mask = false;    ///< the job made the mask of all ranks' tokens
  double dropout = 0;
  AttendedMask mask;
  std::optional<Line> first;
};

/// Reports whether the job itself computes the attention of a line, annotated or not.
bool isOfJob(const Line& attention);

/// Reports whether a line is attention over shards that the recorder recognised.
bool isRecognised(const Line& line);
/// States the mask of attention whose calls state none, or that every key is attended: a model that
/// learns to predict the next token must not attend it.
void stateCausal(RankLines& rank);

/// Removes operators that were recorded before they were known to attend the rank's own block of an
/// attention over shards (`own_block`).
void leaveOutOwnBlocks(RankLines& rank);

/// Returns the arguments of a rank's forward attention.
Called calledWith(const RankLines& rank);

}  // namespace ringscope::traces
