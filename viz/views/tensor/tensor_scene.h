// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"
#include "viz/scene/live_read.h"
#include "viz/scene/tensor_slice.h"

namespace ringscope::viz {

/// A tensor of the selected rank as the list has it: recorded, or only held by the paused run,
/// which has neither statistics nor values.
struct TensorRow {
  traces::TensorRecord record;
  std::string type;
  bool only_live = false;

  /// "q", "block_lse of block 2, piece 1": what tells it from the others of a list.
  std::string name() const;
  /// "−3.1 … 2.9", or that no element is finite.
  std::string range() const;
  /// Says the same in a list.
  bool looksLike(const TensorRow& other) const;
};

/// Returns the tensors of the cursor's training step and rank that belong to its layer and
/// direction, or to no layer. Tensors of a ring step must belong to the cursor's ring step. The
/// tensors of `live` that are not recorded there come last. `filter` is part of a name, in any
/// case.
std::vector<TensorRow> makeTensorRows(const traces::Trace& trace, const Cursor& cursor,
                                      const std::string& filter,
                                      const std::vector<LiveTensor>& live = {});

/// One slice of one tensor.
struct TensorScene {
  std::string note;  ///< why there are no values; empty when there are
  std::string name, where;
  WorldRank rank = WorldRank::of(0);
  bool live = false;               ///< read from the paused run
  std::vector<std::int64_t> lead;  ///< index of each dimension before the last two
  TensorSlice slice;
  ValueHistogram histogram;
  ValueRange range;  ///< that fits the slice
};

/// How a tensor is looked at.
struct TensorRequest {
  std::vector<std::int64_t> lead;  ///< clamped into the shape, cut or filled up with 0
  const LiveRead* read = nullptr;  ///< the paused run's answer for this slice, if there is one
  bool may_read_live = false;      ///< a run goes on, which could be paused and asked
};

TensorScene makeTensorScene(const traces::Trace& trace, const TensorRow& row,
                            const TensorRequest& request);

}  // namespace ringscope::viz
