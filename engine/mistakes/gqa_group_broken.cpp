// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// After the all-to-all each rank has the KV heads of the next rank's query heads.
void injectGqaGroupBroken(Seams& seams) {
  extend(seams.attention.heads, [](const SeamPlace&, HeadSplit& split) {
    std::rotate(split.kv_heads.begin(), split.kv_heads.begin() + 1, split.kv_heads.end());
  });
}

}  // namespace ringscope::engine
