// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// The documents that recorded position ids show by starting again from 0.
struct PositionDocuments {
  std::vector<TokenRun> documents;  ///< ascending; empty when the positions show none
  /// Some document begins within a shard. Otherwise each rank may have numbered its own tokens.
  bool within_shard = false;
  bool entries_differ =
      false;  ///< batch entries have different documents, and `documents` is empty
};

/// Returns the documents of the recorded position ids of a layer's training step.
PositionDocuments documentsByPositions(const Trace& trace, const LayerTensors& layer);

}  // namespace ringscope::traces
