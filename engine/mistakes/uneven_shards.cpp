// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/checked_as.h"

namespace ringscope::engine {
namespace {

std::int64_t roundedDown(std::int64_t length, Balance balance, int cp) {
  const std::int64_t unit = traces::lengthUnit(balance, cp);
  return length / unit * unit;
}

}  // namespace

/// Shards are as long as length ÷ ranks rounded down, and the last tokens are on no rank.
void injectUnevenShards(Seams& seams) {
  checkAs(seams, traces::withLengthThatDivides);
  seams.buffers.layout = [before = seams.buffers.layout](std::int64_t length, int cp_size,
                                                         Balance balance,
                                                         const std::vector<TokenRun>& documents) {
    return before(roundedDown(length, balance, cp_size), cp_size, balance, documents);
  };
  seams.buffers.cut = [before = seams.buffers.cut](const SeamPlace& at, const BufferCut& how,
                                                   const at::Tensor& whole) {
    return before(at, how, whole.narrow(how.seq_dim, 0, how.layout.length()));
  };
}

}  // namespace ringscope::engine
