// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/fields.h"

namespace ringscope::traces {

/// What a group's members share. Values are serialized: append, never renumber.
enum class GroupAxis : std::uint8_t {
  kWorld = 0,
  kDp,       ///< same part of the model and of the sequence, other batches
  kTp,       ///< parts of each layer
  kCp,       ///< parts of the same sequences
  kDpCp,     ///< all that hold the same slice of the weights: gradients are reduced over these
  kRing,     ///< of one cp group: round whom KV goes
  kUlysses,  ///< of one cp group: who share heads
  kOther,    ///< of a foreign recording
  kCount
};
template <>
struct EnumNames<GroupAxis> {
  static constexpr const char* kWhat = "group axis";
  static constexpr std::array<const char*, 8> kNames = {"world", "dp",   "tp",      "cp",
                                                        "dp_cp", "ring", "ulysses", "other"};
};

/// One group of ranks that communicate. A rank's coordinate on an axis is its GroupRank in the
/// group of that axis that it belongs to.
struct GroupRecord {
  GroupId id = GroupId::of(0);
  GroupAxis axis = GroupAxis::kWorld;
  std::vector<WorldRank> members;  ///< in the order of their group ranks

  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

template <>
struct Fields<GroupRecord> {
  static void visit(auto&& field, auto& g) {
    field("id", g.id);
    field("axis", g.axis);
    field("members", g.members);
  }
};

}  // namespace ringscope::traces
