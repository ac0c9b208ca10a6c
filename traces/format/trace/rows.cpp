// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/rows.h"

#include <algorithm>

namespace ringscope::traces {

std::optional<Rows> Rows::load(const Trace& trace, const TensorRecord* record,
                               std::size_t dimensions) {
  if (!record || record->shape.size() != dimensions) return std::nullopt;
  if (std::ranges::any_of(record->shape, [](std::int64_t extent) { return extent <= 0; }))
    return std::nullopt;
  auto values = trace.values(*record);  // throws unless their number matches the shape
  if (!values) return std::nullopt;
  Rows rows;
  rows.batch_ = record->shape[0];
  rows.heads_ = record->shape[1];
  rows.queries_ = record->shape[2];
  rows.width_ = dimensions == 4 ? record->shape[3] : 1;
  rows.values_ = std::move(*values);
  return rows;
}

std::optional<Rows> Rows::vectors(const Trace& trace, const TensorRecord* record) {
  return load(trace, record, 4);
}

std::optional<Rows> Rows::scalars(const Trace& trace, const TensorRecord* record) {
  return load(trace, record, 3);
}

}  // namespace ringscope::traces
