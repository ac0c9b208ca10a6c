// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace ringscope::traces {

/// An integer that identifies one sort of thing, so that a rank cannot be passed for a layer. A
/// negative value means "none", and so does a default-constructed id.
template <typename Tag, typename Rep>
class Id {
 public:
  using Value = Rep;

  constexpr Id() = default;

  /// Converts an integer to an id. Conversions are always explicit.
  template <std::integral Integer>
  static constexpr Id of(Integer value) {
    Id id;
    id.value_ = static_cast<Rep>(value);
    return id;
  }
  static constexpr Id none() { return {}; }
  constexpr Rep value() const { return value_; }
  /// Returns the value as an index. The id must not be none.
  constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
  constexpr bool isNone() const { return value_ < 0; }
  constexpr bool exists() const { return value_ >= 0; }
  /// Returns the id after this one.
  constexpr Id next() const { return of(value_ + 1); }
  /// Returns the id before this one; none for 0.
  constexpr Id previous() const { return of(value_ - 1); }

  friend constexpr bool operator==(const Id&, const Id&) = default;
  friend constexpr auto operator<=>(const Id& a, const Id& b) { return a.value_ <=> b.value_; }

 private:
  Rep value_ = -1;
};

template <typename Tag, typename Rep>
std::string toString(Id<Tag, Rep> id) {
  return id.isNone() ? "none" : std::to_string(id.value());
}

/// A rank of the whole run, 0 … world_size − 1.
using WorldRank = Id<struct WorldRankTag, std::int32_t>;
/// A rank within one group, 0 … the group's size − 1.
using GroupRank = Id<struct GroupRankTag, std::int32_t>;
/// One of a run's groups of ranks (GroupRecord).
using GroupId = Id<struct GroupIdTag, std::int32_t>;
/// A decoder layer; none: outside the decoder layers.
using Layer = Id<struct LayerTag, std::int32_t>;
/// A step of the ring, 0 … cp_size − 1; step 0 attends the rank's own block. None: outside
/// attention.
using RingStep = Id<struct RingStepTag, std::int32_t>;
/// One piece of a stage's work, in the order of the schedule.
using PieceIndex = Id<struct PieceIndexTag, std::int32_t>;
/// A token of the whole sequence, before it is sharded.
using TokenIndex = Id<struct TokenIndexTag, std::int64_t>;
/// A recorded tensor; unique in a trace, 1, 2, 3 …
using TensorId = Id<struct TensorIdTag, std::int64_t>;

}  // namespace ringscope::traces

template <typename Tag, typename Rep>
struct std::hash<ringscope::traces::Id<Tag, Rep>> {
  std::size_t operator()(ringscope::traces::Id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>()(id.value());
  }
};
