// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/tables/table.h"

#include <algorithm>
#include <cmath>

#include "traces/format/core/error.h"

namespace ringscope::traces {

void QueriedTrace::checkTime() const {
  if (std::chrono::steady_clock::now() >= until_)
    throw usageError("the query took longer than it may; ask for less, or give it more time");
}

namespace {

/// Returns the integers around the value that a column is compared with; nullopt when the value is
/// no number.
std::optional<Range> around(const Cell& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return Range{*whole, *whole};
  const auto* real = std::get_if<double>(&value);
  if (!real || !(std::abs(*real) < 9e18)) return std::nullopt;
  return Range{static_cast<std::int64_t>(std::floor(*real)),
               static_cast<std::int64_t>(std::ceil(*real))};
}

}  // namespace

Range rangeFor(std::span<const QueryCondition> conditions, std::size_t column) {
  Range range;
  for (const QueryCondition& condition : conditions) {
    const auto value = around(condition.value);
    if (condition.column != column || !value) continue;
    const bool from_above = condition.is == QueryCondition::Is::kLess ||
                            condition.is == QueryCondition::Is::kAtMost ||
                            condition.is == QueryCondition::Is::kEqual;
    const bool from_below = condition.is == QueryCondition::Is::kGreater ||
                            condition.is == QueryCondition::Is::kAtLeast ||
                            condition.is == QueryCondition::Is::kEqual;
    if (from_above) range.most = std::min(range.most, value->most);
    if (from_below) range.least = std::max(range.least, value->least);
  }
  return range;
}

}  // namespace ringscope::traces
