// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Reports whether the shards of ranks may be whole documents. Then the positions of each rank
/// begin with 0, or the recorded output of each rank is attention of its own tokens alone. The
/// means and weights of these ranks may differ.
bool mayHaveOwnDocuments(const Trace& trace, std::int32_t train_step,
                         const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
