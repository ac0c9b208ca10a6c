// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch.h"

namespace ringscope::engine {

/// Returns a source whose batches have `count` sequences. Each of these joins several consecutive
/// sequences of `source`, so that one mask covers them. The results do not change, because every
/// document ends with its sequence. The caller ensures that the batches of `source` have cu_seqlens
/// and that `count` divides its batch size.
std::unique_ptr<BatchSource> joinSequences(std::unique_ptr<BatchSource> source, std::int64_t count);

}  // namespace ringscope::engine
