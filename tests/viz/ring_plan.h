// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/intent.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::test {

/// A run to record without an engine.
struct RingRun {
  int cp = 4;
  int ulysses = 1;  ///< ranks that share heads; cp: all ranks
  bool all_gather = false;
  traces::Balance balance = traces::Balance::kHeadTail;
  traces::MaskKind mask = traces::MaskKind::kCausal;
  std::int64_t window = 0;
  std::vector<traces::TokenRun> documents;
  traces::PositionRule positions = traces::PositionRule::kWholeSequence;
  std::int64_t seq_len = 128;
  int steps = 2, layers = 2, heads = 4, kv_heads = 2, head_dim = 8;
  bool verified = true;             ///< compared with unsharded attention
  bool keeps_tensors = true;        ///< false: only events, schedules and intent
  bool keeps_logits = false;        ///< also logits over kVocabulary labels
  std::int64_t guesses_from = -1;   ///< logits are zero from this token on; -1: for no token
  bool naive_sum = false;           ///< blocks are added without their weights
  bool ordered_hops = false;        ///< sends and receives are posted one by one
  bool restarts_positions = false;  ///< every rank counts its own tokens from 0

  static constexpr std::size_t kVocabulary = 128;

  traces::Strategy strategy() const;
};

/// The pairs that each rank of a run attends, found by evaluating the mask for every (query, key)
/// pair. It is an oracle that shares no code with the engine's planner or with the views.
class RingPlan {
 public:
  explicit RingPlan(const RingRun& run) : run_(run) {}

  bool allowed(std::int64_t query, std::int64_t key) const;
  /// Returns the tokens that a rank owns, in local order.
  std::vector<traces::ShardRun> owned(int rank) const;
  /// Returns the tokens whose rows a rank attends: its own, or those of all ranks that share heads
  /// with it.
  std::vector<traces::ShardRun> rows(int rank) const;
  traces::ScheduleRecord schedule(int train_step, int rank, traces::Direction direction) const;

  static std::vector<std::int64_t> tokensIn(const std::vector<traces::ShardRun>& runs);

 private:
  std::vector<traces::PieceRecord> pieces(int rank, int source) const;
  traces::WhyEmpty whyEmpty(int rank, int source) const;

  const RingRun& run_;
};

}  // namespace ringscope::test
