// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/core/bytes.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Labels of a loss that left out the last row of each sequence: its targets (int64), with an
/// ignored one at each end. `labels` has its shape [batch, tokens], of which targets have a token
/// less; the rest that its values tell is filled in. Returns these.
Bytes labelsWithoutLast(TensorRecord& labels, const Bytes& targets, std::int64_t ignored);

}  // namespace ringscope::traces
