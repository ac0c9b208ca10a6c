// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Positions count through the whole sequence, whatever documents are packed into it.
void injectPositionsNotResetPerDocument(Seams& seams) {
  seams.data.batch = [](const SeamPlace& at, const BatchSource& source) {
    Batch batch = DataSeams::ofDpRank(at, source);
    batch.position_ids = at::arange(batch.position_ids.size(1), batch.position_ids.options())
                             .expand_as(batch.position_ids)
                             .contiguous();
    return batch;
  };
}

}  // namespace ringscope::engine
