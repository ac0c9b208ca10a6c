// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "engine/kernels/softmax.h"
#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// Where the tensors at hand are in the whole attention.
struct PairPlaces {
  std::int64_t first_sequence = 0, first_head = 0;
  std::span<const traces::TokenIndex> queries = {}, keys = {};  ///< the token of each row
};

/// The seed of one layer of a training step.
std::uint64_t seedOfLayer(std::uint64_t seed, std::int32_t train_step, traces::Layer layer);

/// What the weight of each pair is multiplied with, 0 or 1 / (1 − p): [sequences, heads, queries,
/// keys], float32, on the CPU. A function of the seed and of the pair's place alone, so that
/// backward drops what forward dropped, and every number of ranks and every strategy drops the same
/// pairs.
at::Tensor keptPairs(const Dropout& dropout, const PairPlaces& places, std::int64_t sequences,
                     std::int64_t heads);

}  // namespace ringscope::engine
