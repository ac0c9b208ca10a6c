// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of positions that begin again at a border between ranks, where the rows behind
/// it attend the keys before it. Positions that begin again within a shard must do so where
/// attention ends too. Otherwise documents are packed without a mask, and may be so at a border.
std::optional<Finding> positionsRestartAtShards(const Readings& readings);

/// Returns a finding of attention that begins again at a border between ranks, where positions go
/// on. A mask of documents must be stated, since attention of chunks may begin again anywhere.
/// Positions must begin again within some shard where attention ends, so that they show the
/// documents.
std::optional<Finding> attentionEndsAtShards(const Readings& readings);

}  // namespace ringscope::traces
