// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch.h"

namespace ringscope::engine {

/// Makes batches of `count` sequences, each of which joins several sequences of `source`. A rank
/// can then attend all of them with one mask. The results do not change, because attention ends at
/// document borders and a document ends with its sequence. `source` must keep documents, and
/// `count` must divide its batch size.
std::unique_ptr<BatchSource> joinedSequences(std::unique_ptr<BatchSource> source,
                                             std::int64_t count);

}  // namespace ringscope::engine
