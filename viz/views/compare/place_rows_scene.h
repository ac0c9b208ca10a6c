// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "viz/scene/compared_runs.h"
#include "viz/scene/cursor.h"

namespace ringscope::viz {

using traces::Agreement;

/// The place whose tensors a difference is among: "layer 0 · forward"; empty: it stands alone.
std::string tensorHead(const traces::TensorDifference& difference);

/// A tensor of two runs, or a place of the model with the tensors there.
struct PlaceRow {
  std::string name;    ///< "layer 0 · forward", "q"
  bool heads = false;  ///< a place; its tensors are the rows after it
  bool alone = false;  ///< of no such place
  bool open = true;    ///< of a place: they are listed
  Agreement agreement = Agreement::kSame;
  std::string size;   ///< "8.3e-07", "≈ 2.0e-07", "identical", "224 tokens"
  double bar = 0;     ///< the same from 0 to 1 on a logarithmic scale
  std::string where;  ///< "1,024 of 1,024 rows, most at …"; of a place "3 of 5 differ"
  std::string attends, other_attends, sent, other_sent;  ///< of a place, where they are known
  std::string sentence;                                  ///< as the command says it
  bool first = false, steepest = false;                  ///< of all that differs
  /// The place in the first recording to which the row leads.
  Place place;
  std::string tensor;
  WorldRank rank;

  friend bool operator==(const PlaceRow&, const PlaceRow&) = default;
};

/// Returns the rows of a training step in the order of the data flow. A place is open when it has
/// the first or the steepest difference. `turned` names the places that the user has opened or
/// closed.
std::vector<PlaceRow> placeRows(const traces::RunComparison& comparison, std::int32_t train_step,
                                const std::set<std::string>& turned);

/// The difference after this row's in the order of all, round again at the end; null: none differs.
const traces::TensorDifference* differenceAfter(const traces::RunComparison& comparison,
                                                std::int32_t train_step, const PlaceRow* row);

/// Returns the cursor at a difference.
Cursor cursorAt(const Place& place, const std::string& tensor, WorldRank rank, Cursor cursor);

}  // namespace ringscope::viz
