// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch.h"

namespace ringscope::engine {

/// Batches of `count` sequences, each of which is several of `source`, one after another: since
/// attention ends at the borders of documents, and a sequence ends one, nothing is computed
/// differently, and a rank attends all of them with one mask. `source` keeps documents, and `count`
/// divides its batch.
std::unique_ptr<BatchSource> joinedSequences(std::unique_ptr<BatchSource> source,
                                             std::int64_t count);

}  // namespace ringscope::engine
