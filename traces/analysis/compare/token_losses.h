// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/format/schema/fields.h"
#include "traces/format/schema/ids.h"

namespace ringscope::traces {

class Trace;

/// The loss of one target at its place in the whole batch.
struct TokenLoss {
  std::int32_t train_step = 0;
  std::int64_t sequence = 0;  ///< of the whole batch
  TokenIndex token;           ///< global index; none: the rank's tokens are not recorded
  WorldRank rank;             ///< owner of the token
  std::int64_t label = 0;
  double loss = 0;             ///< cross entropy, with label smoothing if the job used it
  double log_probability = 0;  ///< of the label

  friend bool operator==(const TokenLoss&, const TokenLoss&) = default;
};
template <>
struct Fields<TokenLoss> {
  static void visit(auto&& field, auto& t) {
    field("train_step", t.train_step);
    field("sequence", t.sequence);
    field("token", t.token);
    field("rank", t.rank);
    field("label", t.label);
    field("loss", t.loss);
    field("log_probability", t.log_probability);
  }
};

/// The losses of the targets of some ranks.
struct TokenLosses {
  std::vector<TokenLoss> tokens;  ///< ascending by sequence and token
  /// Reason why the losses of a rank are unknown, as a clause; empty when all are known.
  std::string missing;
};

/// Returns the losses of the targets of `ranks` in a training step, from their recorded logits and
/// labels in fp64. Ranks of one tp group hold slices of the same logits: only one of them may be
/// named.
TokenLosses tokenLosses(const Trace& trace, std::int32_t train_step,
                        std::span<const WorldRank> ranks);

}  // namespace ringscope::traces
