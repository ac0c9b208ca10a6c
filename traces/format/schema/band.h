// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// The (query, key) pairs of local query rows [q_begin, q_end) and local key rows [k_begin, k_end)
/// whose key − query lies in [low, high]: what one piece attends.
struct Band {
  std::int64_t q_begin = 0, q_end = 0, k_begin = 0, k_end = 0;
  std::int64_t low = -kUnbounded, high = kUnbounded;

  /// No row lies as far from another.
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 42;

  static Band of(const PieceRecord& piece);
  /// The part of it in query rows [q0, q1) and key rows [k0, k1).
  Band within(std::int64_t q0, std::int64_t q1, std::int64_t k0, std::int64_t k1) const;
  /// The pairs that are in both.
  Band both(const Band& other) const;
  /// The same pairs where query row q0 and key row k0 are counted as 0.
  Band from(std::int64_t q0, std::int64_t k0) const;

  /// The keys of a row of it, where it has some: [firstKey, endKey).
  std::int64_t firstKey(std::int64_t row) const { return std::max(k_begin, row + low); }
  std::int64_t endKey(std::int64_t row) const { return std::min(k_end, row + high + 1); }

  bool empty() const;
  /// How many pairs it holds; exact while a double is.
  double pairs() const;
  /// Its last keys are not for its first queries, as on a causal diagonal.
  bool cutAbove() const { return high < k_end - 1 - q_begin; }
  /// Every pair of its rows is in it.
  bool full() const { return !cutAbove() && low <= k_begin - (q_end - 1); }

  friend bool operator==(const Band&, const Band&) = default;
};

/// What an event attended. The schedule's piece of the same rows and mask says where a tile mask
/// lies; without one, all of the event's rows.
Band bandOf(const Event& attend, const StageRecord* planned);

}  // namespace ringscope::traces
