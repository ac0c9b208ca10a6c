// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Whether a KV block is what its source's becomes where memory in which two of its dimensions
/// (heads, tokens, elements) lie the other way round is read as if they did not: K, V or both, and
/// nothing else. Nothing where the values are not recorded. kv: [2, batch, heads, tokens,
/// head_dim].
std::optional<bool> readByOtherStrides(const Trace& trace, const TensorRecord& source,
                                       const TensorRecord& block);

}  // namespace ringscope::traces
