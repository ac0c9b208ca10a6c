// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The recorded values of out or lse, or of a block of them, by row: one row per (batch, head,
/// query). Whoever holds one may trust its extents: none is 0, and there are values for all rows.
class Rows {
 public:
  /// A tensor [B, H, S, D] such as out; rows have D elements. Nothing when there is no record, its
  /// values were not kept, or it has another shape. Throws inputError when they are damaged.
  static std::optional<Rows> vectors(const Trace& trace, const TensorRecord* record);
  /// The same of a tensor [B, H, S] such as lse; rows have one element.
  static std::optional<Rows> scalars(const Trace& trace, const TensorRecord* record);

  std::int64_t batch() const { return batch_; }
  std::int64_t heads() const { return heads_; }
  std::int64_t queries() const { return queries_; }
  std::int64_t width() const { return width_; }
  const std::vector<double>& values() const { return values_; }

  bool holds(std::int64_t head, std::int64_t query) const {
    return head >= 0 && head < heads_ && query >= 0 && query < queries_;
  }
  /// The same rows, whatever they hold.
  bool matches(const Rows& other) const {
    return batch_ == other.batch_ && heads_ == other.heads_ && queries_ == other.queries_;
  }
  /// The row of a (batch, head, query) that is there.
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
