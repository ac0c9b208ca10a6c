// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "viz/scene/cursor.h"
#include "viz/views/diff/error_map_scene.h"

namespace ringscope::viz {

/// One comparison, as its cell says it.
struct DiffCell {
  std::string words;  ///< "▲ 8,400×": the worst row's error ÷ its limit
  bool wrong = false;
  bool chosen = false;  ///< the one whose error map is shown
  std::string tensor;
  Place place;  ///< where it leads: the first ring step of its pass

  friend bool operator==(const DiffCell&, const DiffCell&) = default;
};

/// Layers × tensors of one kind of comparison.
struct DiffTable {
  std::string title, note;
  std::vector<std::string> tensors;                          ///< columns
  std::vector<std::vector<std::optional<DiffCell>>> layers;  ///< rows; nothing: not compared

  friend bool operator==(const DiffTable&, const DiffTable&) = default;
};

/// A tensor without a column in the tables: the loss, the gradient of a parameter or of sinks.
struct DiffRow {
  std::string tensor, words;
  double error = 0, limit = 0;  ///< of the worst row
  bool wrong = false;

  friend bool operator==(const DiffRow&, const DiffRow&) = default;
};

/// How far the viewed training step is from unsharded attention, and where in one tensor.
struct DiffScene {
  std::string note;  ///< what cannot be shown and why; empty when there is something
  std::vector<DiffTable> tables;
  std::vector<DiffRow> rest;  ///< worst first
  std::string map_title;
  std::string quantisation;  ///< what rounding to FP8 alone does to it; empty: not rounded
  ErrorUnit unit = ErrorUnit::kLimit;
  ErrorMap map;

  friend bool operator==(const DiffScene&, const DiffScene&) = default;
};

/// `unit`: of the error map. `live`: what is missing may still come.
DiffScene makeDiffScene(const traces::Trace& trace, const Cursor& cursor, ErrorUnit unit,
                        bool live);

/// "diverges", "diverge", of so many.
const char* verbFor(std::ptrdiff_t count);
/// "▲ 3 of 21 diverge; worst first", of rows that are listed so.
std::string restVerdict(const std::vector<DiffRow>& rows);

}  // namespace ringscope::viz
