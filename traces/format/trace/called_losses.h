// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// One call of cross entropy in a recorded PyTorch job whose gradient backward computes, or
/// log-probabilities of tokens of which the job makes a loss by itself.
struct CalledLoss {
  /// The weights of single targets in the gradient that backward brought to the logits.
  struct Weights {
    double least = 0, most = 0, mean = 0;
    double off = 0;  ///< share of that gradient which these weights do not explain
  };
  /// The targets of one batch entry, and their weights.
  struct Entry {
    std::int64_t targets = 0;
    double least = 0, most = 0;
  };
  std::int32_t microbatch = 0;
  std::int64_t targets = 0;
  std::int64_t tokens = 0;           ///< rows of logits, also those without a target; 0: not known
  bool weighted = false;             ///< classes have weights
  bool picked = false;               ///< log-probabilities, of which the job makes its own loss
  std::optional<double> smoothing;   ///< label smoothing; nullopt: not known
  std::optional<Weights> weights;    ///< nullopt: not observed exactly once
  std::vector<Entry> entries;        ///< of picked log-probabilities; empty: not recorded
  std::string parameter;             ///< weight of the output projection; empty: not known
  std::string dtype;                 ///< type of the projection's product; empty: not known
  bool tied = false;                 ///< that weight also embeds tokens
  std::vector<std::string> between;  ///< operators between the product and the logits
  /// Sum of the products of that gradient's elements with the logits; nullopt: not recorded.
  std::optional<double> product;
  /// The same of the output projection's gradient, which the optimizer is given, with its weight.
  /// Without any factor, the sum of `product` over all losses gives it.
  std::optional<double> head_product;
  std::int64_t head_parts = 1;  ///< ranks whose head_product are parts of one number
  /// Another parameter's gradient, as one number that is linear in it: what backward brought on
  /// this rank, and what the optimizer is given. nullopt: not recorded, or of several microbatches.
  std::optional<double> local_gradient, given_gradient;
};

/// Returns the losses of a rank in a training step, in order; empty when they were not recorded.
std::vector<CalledLoss> calledLosses(const Trace& trace, std::int32_t train_step, WorldRank rank);

/// The key of the note with the losses of a training step: {"RANK": [loss, …]}.
std::string calledLossesKey(std::int32_t train_step);
nlohmann::json toJson(const CalledLoss& loss);

}  // namespace ringscope::traces
