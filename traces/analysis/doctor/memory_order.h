// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Reports whether a KV block is its source's block, read from memory in which two dimensions
/// (heads, tokens, elements) of K, V or both are swapped. Returns nullopt when the values are not
/// recorded. kv: [2, batch, heads, tokens, head_dim].
std::optional<bool> readByOtherStrides(const Trace& trace, const TensorRecord& source,
                                       const TensorRecord& block);

}  // namespace ringscope::traces
