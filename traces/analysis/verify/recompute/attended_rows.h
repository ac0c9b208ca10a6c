// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/format/schema/token_runs.h"

namespace ringscope::traces {

/// The error of a row of out in proportion to the largest row of v. A row of 32-bit numbers that is
/// further off is of other keys.
inline constexpr double kToleranceOfRow = 1e-4;

/// The selected rows of a layer's out, and the values from which they follow. Rows have the order
/// [groups, heads of a group, rows].
class AttendedRows {
 public:
  /// `sinks` are logits by head of the layer; empty: there are none.
  AttendedRows(const Trace& trace, const LayerTensors& layer, const Selection& selection,
               std::vector<double> sinks);

  std::size_t count() const { return out_.size() / width_; }

  /// Returns the keys whose attention gives a row, as findRowKeys() does. Returns nullopt when
  /// there are none, or when they leave out the row's own key.
  std::optional<std::vector<TokenRun>> keys(std::size_t row) const;

  /// Reports whether attention of one run of keys gives a row. The run has indices into the layer's
  /// tokens.
  bool agrees(std::size_t row, const TokenRun& keys) const;

 private:
  /// The numbers of one row: out, v of all keys, and their weights up to a common factor.
  struct Row {
    std::span<const double> out, v;
    std::vector<double> weights;
    double sink = 0;
  };
  Row rowAt(std::size_t row) const;
  bool leavesOutOwnKey(const std::vector<TokenRun>& keys, const std::vector<double>& weights,
                       std::size_t own) const;
  std::span<const double> part(const std::vector<double>& values, std::size_t row,
                               std::size_t rows) const {
    return std::span(values).subspan(row * width_, rows * width_);
  }

  const LayerTensors& layer_;
  const Selection& selection_;
  std::size_t width_;
  std::vector<double> q_, k_, v_, out_, sinks_;
  double tolerance_;
};

}  // namespace ringscope::traces
