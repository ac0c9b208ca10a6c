// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "traces/format/schema/fields.h"

namespace ringscope::traces {

/// The relation between the members of a group. Values are serialized: append, never renumber.
enum class GroupAxis : std::uint8_t {
  kWorld = 0,
  kDp,       ///< same part of the model and of the sequence, different batches
  kTp,       ///< parts of each layer
  kCp,       ///< parts of the same sequences
  kDpCp,     ///< all ranks that hold the same slice of the weights; gradients are reduced over them
  kRing,     ///< within one cp group: ranks between which KV travels in a ring
  kUlysses,  ///< within one cp group: ranks that share heads
  kOther,    ///< any group of a recording that RingScope did not make
  kCount
};
template <>
struct EnumNames<GroupAxis> {
  static constexpr const char* kWhat = "group axis";
  static constexpr std::array<const char*, 8> kNames = {"world", "dp",   "tp",      "cp",
                                                        "dp_cp", "ring", "ulysses", "other"};
};

/// One microbatch of one training step.
struct StepMicrobatch {
  std::int32_t train_step = 0, microbatch = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 finds a 0 in what the compiler generates.
  friend auto operator<=>(const StepMicrobatch&, const StepMicrobatch&) = default;
};

/// One group of ranks that communicate. A rank's coordinate on an axis is its GroupRank in the
/// group of that axis that it belongs to.
struct GroupRecord {
  GroupId id = GroupId::of(0);
  GroupAxis axis = GroupAxis::kWorld;
  std::vector<WorldRank> members;  ///< in the order of their group ranks
  /// The microbatches in which the members are a group (dynamic context parallelism, where ranks
  /// share the sequences of different microbatches with different ranks); empty: all microbatches.
  std::vector<StepMicrobatch> microbatches{};

  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};

template <>
struct Fields<StepMicrobatch> {
  static void visit(auto&& field, auto& m) {
    field("train_step", m.train_step);
    field("microbatch", m.microbatch);
  }
};
template <>
struct Fields<GroupRecord> {
  static constexpr std::array kAdded = {AddedField{"microbatches", 4}};
  static void visit(auto&& field, auto& g) {
    field("id", g.id);
    field("axis", g.axis);
    field("members", g.members);
    field("microbatches", g.microbatches);
  }
};

}  // namespace ringscope::traces
