// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/mask.h"
#include "traces/format/schema/intent.h"
#include "traces/format/schema/schedule_record.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

/// The recorded intent of a group of ranks at a training step. The mask is that of `layer`.
class Meant {
 public:
  Meant(const traces::Trace& trace, std::int32_t train_step, const std::vector<WorldRank>& ranks,
        Layer layer = Layer::none());

  bool recorded() const { return intent_ != nullptr; }
  /// (query, key) pairs that the mask has between the tokens of two runs of one stride; nothing
  /// where it is not recorded.
  std::optional<double> pairs(const traces::ShardRun& queries, const traces::ShardRun& keys) const;
  /// ", causally", ", within a window of 20": how a block is attended in part.
  std::string manner() const;

  /// The position id that a token should have; nothing where that is not recorded.
  std::optional<std::int64_t> tokenPosition(TokenIndex token) const;
  /// True for the first token of a document after the first.
  bool documentBeginsAt(TokenIndex token) const;
  /// Why tokenPosition() knows nothing; empty when it does.
  std::string positionsMissing() const;

 private:
  const traces::IntentRecord* intent_ = nullptr;
  traces::AttentionMask mask_;
  std::string advice_, documents_advice_;
};

}  // namespace ringscope::viz
