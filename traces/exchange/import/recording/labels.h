// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/core/bytes.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Returns the labels of a loss that left out the last row of each sequence. They are its targets
/// (int64) with the label `ignored` added at the end of each sequence. The shape of `labels` is
/// [batch, tokens]; targets have one token less per sequence. Sets the type, the statistics and the
/// hash of `labels`.
Bytes labelsWithoutLast(TensorRecord& labels, const Bytes& targets, std::int64_t ignored);

}  // namespace ringscope::traces
