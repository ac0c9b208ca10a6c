// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// The (query, key) pairs of local query rows [q_begin, q_end) and local key rows [k_begin, k_end)
/// whose key − query lies in [low, high]. One piece attends the pairs of one band.
struct Band {
  std::int64_t q_begin = 0, q_end = 0, k_begin = 0, k_end = 0;
  std::int64_t low = -kUnbounded, high = kUnbounded;

  /// A bound that no difference of two rows reaches.
  static constexpr std::int64_t kUnbounded = std::int64_t{1} << 42;

  static Band of(const PieceRecord& piece);
  /// Returns the part of the band in query rows [q0, q1) and key rows [k0, k1).
  Band within(std::int64_t q0, std::int64_t q1, std::int64_t k0, std::int64_t k1) const;
  /// Returns the pairs that are in both bands.
  Band both(const Band& other) const;
  /// Returns the same pairs with query row q0 and key row k0 counted as 0.
  Band from(std::int64_t q0, std::int64_t k0) const;

  /// Return the keys [firstKey, endKey) of a row that has keys.
  std::int64_t firstKey(std::int64_t row) const { return std::max(k_begin, row + low); }
  std::int64_t endKey(std::int64_t row) const { return std::min(k_end, row + high + 1); }

  bool empty() const;
  /// Returns the number of pairs; exact up to 2^53.
  double pairs() const;
  /// Reports whether the first queries do not attend the last keys, as on a causal diagonal.
  bool cutAbove() const { return high < k_end - 1 - q_begin; }
  /// Reports whether the band contains every pair of its rows.
  bool full() const { return !cutAbove() && low <= k_begin - (q_end - 1); }

  friend bool operator==(const Band&, const Band&) = default;
};

/// Returns the band that an event attended. The schedule's piece with the same rows and mask gives
/// the offsets of a tile mask. Without such a piece the band covers all of the event's rows.
Band bandFor(const Event& attend, const StageRecord* planned);

}  // namespace ringscope::traces
