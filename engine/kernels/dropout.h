// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "engine/kernels/softmax.h"
#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// The places of the given tensors within the whole attention.
struct PairPlaces {
  std::int64_t first_sequence = 0, first_head = 0;
  std::span<const traces::TokenIndex> queries = {}, keys = {};  ///< the token index of each row
};

/// Returns the seed of one layer in a training step.
std::uint64_t seedOfLayer(std::uint64_t seed, std::int32_t train_step, traces::Layer layer);

/// Returns the factor of each pair's weight, 0 or 1 / (1 − p): [sequences, heads, queries, keys],
/// fp32, on the CPU. The factor depends only on the seed and the pair's place. Backward therefore
/// drops the same pairs as forward, and so do all strategies and numbers of ranks.
at::Tensor keptPairs(const Dropout& dropout, const PairPlaces& places, std::int64_t sequences,
                     std::int64_t heads);

}  // namespace ringscope::engine
