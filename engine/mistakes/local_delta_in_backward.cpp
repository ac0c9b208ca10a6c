// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/kernels/block_attention.h"
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// A block's gradients are computed from its own out and lse, so delta and the weights are those of
/// the block alone.
void injectLocalDeltaInBackward(Seams& seams) {
  extend(seams.attention.backward, [](const SeamPlace&, BackwardInputs& in) {
    RunningResult own = emptyRunningResult(in.q);
    for (const Piece& piece : in.pieces)
      mergeBlock(own, attendPiece(in.q, in.k, in.v, piece, in.scale), piece.q_begin);
    in.result = {own.out.to(in.q.scalar_type()), own.lse};
  });
}

}  // namespace ringscope::engine
