// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The recorded values of out or lse, or of a block of them, by row: one row per (batch, head,
/// query). Every extent is at least 1, and all rows have values.
class Rows {
 public:
  /// Loads a tensor [B, H, S, D] such as out; rows have D elements. Returns nullopt when there is
  /// no record, its values were not kept, or it has another shape. Throws inputError when the
  /// values are damaged.
  static std::optional<Rows> vectors(const Trace& trace, const TensorRecord* record);
  /// Loads a tensor [B, H, S] such as lse in the same way; rows have one element.
  static std::optional<Rows> scalars(const Trace& trace, const TensorRecord* record);

  std::int64_t batch() const { return batch_; }
  std::int64_t heads() const { return heads_; }
  std::int64_t queries() const { return queries_; }
  std::int64_t width() const { return width_; }
  const std::vector<double>& values() const { return values_; }

  bool holds(std::int64_t head, std::int64_t query) const {
    return head >= 0 && head < heads_ && query >= 0 && query < queries_;
  }
  /// Reports whether both have the same batch, heads and queries; widths may differ.
  bool matches(const Rows& other) const {
    return batch_ == other.batch_ && heads_ == other.heads_ && queries_ == other.queries_;
  }
  /// Returns the row of a (batch, head, query), which must exist.
  std::span<const double> row(std::int64_t batch, std::int64_t head, std::int64_t query) const {
    const std::int64_t index = (batch * heads_ + head) * queries_ + query;
    return std::span(values_).subspan(static_cast<std::size_t>(index * width_),
                                      static_cast<std::size_t>(width_));
  }

 private:
  static std::optional<Rows> load(const Trace& trace, const TensorRecord* record,
                                  std::size_t dimensions);

  std::int64_t batch_ = 0, heads_ = 0, queries_ = 0, width_ = 1;
  std::vector<double> values_;
};

}  // namespace ringscope::traces
