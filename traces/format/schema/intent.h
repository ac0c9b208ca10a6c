// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/fields.h"
#include "traces/format/schema/groups.h"
#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// The token from which position ids count. Values are serialized: append, never renumber.
enum class PositionRule : std::uint8_t { kUnknown = 0, kWholeSequence, kEachDocument, kCount };
template <>
struct EnumNames<PositionRule> {
  static constexpr const char* kWhat = "position rule";
  static constexpr std::array<const char*, 3> kNames = {"unknown", "whole_sequence",
                                                        "each_document"};
};

/// The rule that combines the losses of several ranks. Values are serialized: append, never
/// renumber.
enum class LossReduction : std::uint8_t { kUnknown = 0, kMeanOverTargets, kCount };
template <>
struct EnumNames<LossReduction> {
  static constexpr const char* kWhat = "loss reduction";
  static constexpr std::array<const char*, 2> kNames = {"unknown", "mean_over_targets"};
};

/// A buffer that the run declares as cut along the sequence.
struct BufferIntent {
  std::string name;
  std::int32_t seq_dim = 1;
  friend bool operator==(const BufferIntent&, const BufferIntent&) = default;
};

/// The declared intention of a run from one training step on. Recordings of other frameworks have
/// it too. Rules compare it with what happened.
struct IntentRecord {
  std::int32_t train_step = 0;  ///< valid until the next record of the same ranks and layers
  std::optional<std::int32_t> microbatch;  ///< the only microbatch, of this training step alone,
                                           ///< that the record concerns; nullopt: all microbatches
  std::vector<WorldRank> ranks;  ///< ranks concerned, which share a sequence; empty: all ranks
  std::vector<Layer> layers;     ///< layers whose mask this is; empty: all layers
  MaskKind mask = MaskKind::kCausal;
  std::int64_t window = 0;          ///< keys that a query sees, its own included; 0: no window
  std::vector<TokenRun> documents;  ///< ascending, for mask documents; tokens between documents are
                                    ///< padding
  Balance balance = Balance::kNone;
  PositionRule positions = PositionRule::kUnknown;
  LossReduction loss = LossReduction::kUnknown;
  GroupAxis gradients_over = GroupAxis::kDpCp;  ///< axis whose ranks sum their gradients
  std::vector<BufferIntent> buffers;
  friend bool operator==(const IntentRecord&, const IntentRecord&) = default;
};

template <>
struct Fields<BufferIntent> {
  static void visit(auto&& field, auto& b) {
    field("name", b.name);
    field("seq_dim", b.seq_dim);
  }
};
template <>
struct Fields<IntentRecord> {
  static constexpr std::array kAdded = {AddedField{"microbatch", 4}, AddedField{"layers", 4}};
  static void visit(auto&& field, auto& i) {
    field("train_step", i.train_step);
    field("microbatch", i.microbatch);
    field("ranks", i.ranks);
    field("layers", i.layers);
    field("mask", i.mask);
    field("window", i.window);
    field("documents", i.documents);
    field("balance", i.balance);
    field("positions", i.positions);
    field("loss", i.loss);
    field("gradients_over", i.gradients_over);
    field("buffers", i.buffers);
  }
};

}  // namespace ringscope::traces
