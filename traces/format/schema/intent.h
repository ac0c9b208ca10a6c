// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/schema/fields.h"
#include "traces/format/schema/groups.h"
#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// From where position ids count. Values are serialized: append, never renumber.
enum class PositionRule : std::uint8_t { kUnknown = 0, kWholeSequence, kEachDocument, kCount };
template <>
struct EnumNames<PositionRule> {
  static constexpr const char* kWhat = "position rule";
  static constexpr std::array<const char*, 3> kNames = {"unknown", "whole_sequence",
                                                        "each_document"};
};

/// How the loss of several ranks becomes one. Values are serialized: append, never renumber.
enum class LossReduction : std::uint8_t { kUnknown = 0, kMeanOverTargets, kCount };
template <>
struct EnumNames<LossReduction> {
  static constexpr const char* kWhat = "loss reduction";
  static constexpr std::array<const char*, 2> kNames = {"unknown", "mean_over_targets"};
};

/// A buffer that is to be cut along the sequence.
struct BufferIntent {
  std::string name;
  std::int32_t seq_dim = 1;
  friend bool operator==(const BufferIntent&, const BufferIntent&) = default;
};

/// What a run meant to do from one training step on, as it was declared; a recording of somebody
/// else's run has one too. What happened stands beside it, and rules compare the two.
struct IntentRecord {
  std::int32_t train_step = 0;   ///< until the next record of the same ranks
  std::vector<WorldRank> ranks;  ///< whom it concerns, those that share a sequence; empty: all
  MaskKind mask = MaskKind::kCausal;
  std::int64_t window = 0;          ///< 0: none
  std::vector<TokenRun> documents;  ///< ascending, with mask documents; tokens between are padding
  Balance balance = Balance::kNone;
  PositionRule positions = PositionRule::kUnknown;
  LossReduction loss = LossReduction::kUnknown;
  GroupAxis gradients_over = GroupAxis::kDpCp;  ///< whose ranks' gradients are summed
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
  static void visit(auto&& field, auto& i) {
    field("train_step", i.train_step);
    field("ranks", i.ranks);
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
