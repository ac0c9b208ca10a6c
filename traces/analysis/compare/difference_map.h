// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/place.h"

namespace ringscope::traces {
class Trace;

/// One row of a tensor (the numbers of a head at a token) in two runs.
struct RowDifference {
  double difference = 0;     ///< 2-norm of A − B; infinite where one alone is finite
  double a = 0, b = 0;       ///< the number of the row that differs most, in both
  std::int32_t element = 0;  ///< where in the row that is
  WorldRank rank, other;     ///< who had the row in both; none: it is not recorded there

  bool compared() const { return rank.exists() && other.exists(); }
};

/// Where two runs differ in one tensor: rows of equal tokens under each other, whatever ranks had
/// them. RunComparison has the worst of these rows.
struct DifferenceMap {
  /// A line of rows: a sequence of the whole batch and, of attention, a head of the whole model.
  struct Line {
    std::int64_t sequence = 0;
    std::optional<std::int64_t> head;
    friend bool operator==(const Line&, const Line&) = default;
  };

  Place place;
  std::string tensor;
  std::vector<Line> lines;
  std::vector<TokenIndex> tokens;   ///< ascending: all that either run has
  std::vector<RowDifference> rows;  ///< [lines, tokens]
  std::int64_t width = 1;           ///< numbers of a row
  /// What a difference is measured by: the root mean square of the 2-norms of the rows of the
  /// second run that were compared. Of ids, labels and positions 1.
  double size = 1;
  /// Sentences without a full stop: what the first or the second run lacks, and which capture would
  /// have kept it.
  std::vector<std::string> missing, other_missing;

  const RowDifference& row(std::size_t line, std::size_t token) const {
    return rows[line * tokens.size() + token];
  }
  /// A row's difference in its unit; infinite where the second run has nothing but zeros.
  double share(const RowDifference& row) const {
    if (row.difference == 0) return 0;
    return size > 0 ? row.difference / size : std::numeric_limits<double>::infinity();
  }
};

/// Whether a tensor has rows by token that are put together across meshes: ids, labels, positions,
/// and attention's q, k, v, out, lse, dout, dq, dk, dv.
bool hasRowsByToken(const std::string& tensor);
/// Where such a tensor is at a training step and layer: attention's in its direction, the others in
/// no layer; no ring step.
Place placeOfRows(const Place& place, const std::string& tensor);

/// Of a training step and, for attention, a layer; the direction follows from the tensor. Token ids
/// and labels differ by 1 or not at all, since they are names. Without lines where one of both has
/// no values of it. Throws inputError when values are damaged.
DifferenceMap differenceMap(const Trace& run, const Trace& other, const Place& place,
                            const std::string& tensor);

}  // namespace ringscope::traces
