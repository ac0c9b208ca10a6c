// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/compare/difference_map.h"
#include "traces/analysis/compare/run_comparison.h"
#include "viz/scene/cursor.h"

namespace ringscope::viz {

/// The tensor of which it is shown where two recordings differ.
struct MapSubject {
  Place place;  ///< of its rows, see traces::placeOfRows()
  std::string tensor;

  friend bool operator==(const MapSubject&, const MapSubject&) = default;
};
MapSubject mapSubject(const Place& place, const std::string& tensor);

/// |A − B| of one tensor, by sequence and head downwards and by token to the right.
struct ComparedMap {
  MapSubject subject;
  std::string title;               ///< "|A − B| OF k, LAYER 0 · FORWARD, BY HEAD AND TOKEN"
  std::string note;                ///< in its place: why there is none; empty: there is one
  bool reading = false;            ///< it is being made
  std::vector<std::string> lines;  ///< "head 0", "seq 1, head 0", "seq 0"
  std::string unit;                ///< what a difference is said in: "of its size", "positions"
  double low = 0.1, high = 1;      ///< powers of ten between which colours go, logarithmically
  std::optional<double> floor;     ///< by how much equal runs differ at most
  bool has_infinite = false, has_lacking = false;  ///< rows that only one has, or none
  std::string largest;                             ///< a sentence of all rows
  std::vector<std::string> lacks;                  ///< what is missing, and what would have kept it
  std::shared_ptr<const traces::DifferenceMap> map;  ///< null with a note alone

  bool empty() const { return !map || map->rows.empty(); }
  /// Returns the place of a difference on the scale of colours: 0 when equal, and above 0 up to 1
  /// when different. The place is infinite when only one value is finite, and nullopt when the row
  /// was not compared.
  std::optional<double> level(const traces::RowDifference& row) const;
  friend bool operator==(const ComparedMap&, const ComparedMap&) = default;
};

/// `map`: null while it is being made, or where it could not be, which `problem` says. A tensor
/// without rows by token has none, and it is said.
ComparedMap makeComparedMap(const MapSubject& subject,
                            std::shared_ptr<const traces::DifferenceMap> map,
                            const std::string& problem, const traces::RunComparison& comparison);

/// Describes a row: "head 2, token 17 differs by 0.31 of its size; most at number 5: 0.12 in A
/// (rank 1), 0.43 in B (rank 0)". The row is the worst of `of` rows that share its pixel.
std::string describeRow(const ComparedMap& map, std::size_t row, std::int64_t of = 1);

/// The next row that differs, in the order in which they are read, or the one before; from nowhere
/// the one that differs most. Nothing where no row differs.
std::optional<std::size_t> rowThatDiffers(const ComparedMap& map, std::optional<std::size_t> from,
                                          bool forward);

/// The rows as a picture of columns and lines has them: where there are more than that, each point
/// has the worst of those that fall on it. No mean hides a row.
struct FoldedMap {
  std::size_t columns = 0, lines = 0;
  std::vector<std::size_t> worst;  ///< [lines, columns], indices into DifferenceMap::rows

  /// How many rows fall on a point.
  std::int64_t comparedRows(const traces::DifferenceMap& map, std::size_t line,
                            std::size_t column) const;
};
/// No more lines and columns than `map` has, which must not be empty, and at least one.
FoldedMap folded(const traces::DifferenceMap& map, std::size_t columns, std::size_t lines);

}  // namespace ringscope::viz
