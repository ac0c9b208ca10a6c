// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

// Parts of a recorded PyTorch job that its recorder judges where they run.

/// A merge of partial attention outputs that ranks gathered with their log-sum-exps.
struct PartialMerge {
  Layer layer;
  std::int32_t microbatch = 0;
  std::string found;               ///< outcome of check_merge: "NONE", or a mistake such as "MEAN"
  std::string detail;              ///< more about the mistake; may be empty
  double factor = 0;               ///< worst error divided by its limit
  std::optional<bool> appended;    ///< the keys of this rank end with those of the new token
  std::vector<WorldRank> members;  ///< ranks whose outputs are merged; empty: not recorded
};

/// A causal convolution of each channel over the tokens of a rank.
struct CausalConvolution {
  std::int32_t microbatch = 0;
  std::string module;
  std::int64_t tokens = 0;         ///< of the rank
  std::int64_t before = 0;         ///< earlier tokens that an output needs
  bool begins_with_zeros = false;  ///< those of the first token are 0
  bool tail_moved = false;         ///< a message may have brought them in another way
};

/// Features of media that a rank scattered into the embeddings of its tokens, from the first on.
struct ScatteredFeatures {
  std::int32_t microbatch = 0;
  std::int64_t tokens = 0;          ///< of the embeddings
  std::int64_t rows = 0, used = 0;  ///< of the features; used: those that have a place
  std::string hash;                 ///< of the features
};

/// Returns those of a rank in a training step, in order; empty when there are none.
std::vector<PartialMerge> partialMerges(const Trace& trace, std::int32_t train_step,
                                        WorldRank rank);
std::vector<CausalConvolution> causalConvolutions(const Trace& trace, std::int32_t train_step,
                                                  WorldRank rank);

std::vector<ScatteredFeatures> scatteredFeatures(const Trace& trace, std::int32_t train_step,
                                                 WorldRank rank);

/// The keys of the notes of a training step: {"RANK": [object, …]}.
std::string partialMergesKey(std::int32_t train_step);
std::string causalConvolutionsKey(std::int32_t train_step);
std::string scatteredFeaturesKey(std::int32_t train_step);
nlohmann::json toJson(const PartialMerge& merge);
nlohmann::json toJson(const CausalConvolution& convolution);
nlohmann::json toJson(const ScatteredFeatures& features);

}  // namespace ringscope::traces
