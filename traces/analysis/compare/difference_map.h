// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/place.h"

namespace ringscope::traces {
class Trace;

/// One row of a tensor (the values of a head at a token) in two runs.
struct RowDifference {
  double difference = 0;     ///< 2-norm of A − B; infinite when only one of the rows is finite
  double a = 0, b = 0;       ///< the element that differs most, in both runs
  std::int32_t element = 0;  ///< index of that element in the row
  WorldRank rank, other;     ///< rank that had the row in each run; none: not recorded there

  bool compared() const { return rank.exists() && other.exists(); }
};

/// The difference of one tensor between two runs, with rows aligned by token, whatever ranks had
/// them. RunComparison has the worst of these rows.
struct DifferenceMap {
  /// A line of rows: a sequence of the whole batch and, for attention, a head of the whole model.
  struct Line {
    std::int64_t sequence = 0;
    std::optional<std::int64_t> head;
    friend bool operator==(const Line&, const Line&) = default;
  };

  Place place;
  std::string tensor;
  std::vector<Line> lines;
  std::vector<TokenIndex> tokens;   ///< ascending: the tokens of either run
  std::vector<RowDifference> rows;  ///< [lines, tokens]
  std::int64_t width = 1;           ///< values per row
  /// The unit of a difference: the root mean square of the 2-norms of the compared rows of the
  /// second run. For ids, labels and positions it is 1.
  double size = 1;
  /// Sentences without a full stop: what the first or the second run lacks, and which capture would
  /// have kept it.
  std::vector<std::string> missing, other_missing;

  const RowDifference& row(std::size_t line, std::size_t token) const {
    return rows[line * tokens.size() + token];
  }
  /// Returns a row's difference in this unit; infinite when the second run has only zeros.
  double share(const RowDifference& row) const {
    if (row.difference == 0) return 0;
    return size > 0 ? row.difference / size : std::numeric_limits<double>::infinity();
  }
};

/// Reports whether a tensor has rows by token that can be aligned across meshes: ids, labels,
/// positions, and attention's q, k, v, out, lse, dout, dq, dk, dv.
bool hasRowsByToken(const std::string& tensor);
/// Returns the place of such a tensor at a training step and layer. Attention's tensors have a
/// direction; the others have no layer. The place has no ring step.
Place placeOfRows(const Place& place, const std::string& tensor);

/// Returns the map of a training step and, for attention, a layer; the direction follows from the
/// tensor. Token ids and labels are names, so they differ by 1 or 0. The map has no lines when one
/// of the runs has no values of the tensor. Throws inputError when values are damaged.
DifferenceMap differenceMap(const Trace& run, const Trace& other, const Place& place,
                            const std::string& tensor);

}  // namespace ringscope::traces
