// SPDX-License-Identifier: Apache-2.0
// Mistakes in which tokens, labels and positions a rank has.
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

/// Returns all but the first token, followed by an ignored one.
at::Tensor shiftedByOne(const at::Tensor& tokens, const at::Tensor& labels) {
  const at::Tensor last = at::full({tokens.size(0), 1}, -100, labels.options());
  return at::cat({tokens.slice(1, 1), last}, 1);
}

}  // namespace

/// The sampler deals batches to cp ranks too, as if they were dp ranks.
void injectDifferentBatchesOnCpRanks(Seams& seams) {
  seams.data.batch = [](const SeamPlace& at, const BatchSource& source) {
    SeamPlace dealt = at;
    dealt.place.train_step = at.place.train_step * at.mesh.cp + at.cpRank().value();
    return DataSeams::ofDpRank(dealt, source);
  };
}

/// Every dp rank takes the sequences of the first.
void injectSameBatchOnDpRanks(Seams& seams) {
  seams.data.batch = [](const SeamPlace& at, const BatchSource& source) {
    SeamPlace first = at;
    first.rank.dp = GroupRank::of(0);
    return DataSeams::ofDpRank(first, source);
  };
}

/// The model shifts its labels by one, and they were shifted already.
void injectLabelsShiftedTwice(Seams& seams) {
  extend(seams.buffers.sharded, [](const SeamPlace&, Batch& local) {
    local.labels = shiftedByOne(local.labels, local.labels);
  });
}

/// Cuts the tokens without labels. Each rank takes the next token of its shard as the label. The
/// last token of a chunk gets the first token of the rank's next chunk, and the last token of the
/// shard gets none.
void injectShiftLabelsPerShard(Seams& seams) {
  extend(seams.buffers.sharded, [](const SeamPlace&, Batch& local) {
    local.labels = shiftedByOne(local.input_ids, local.labels);
  });
}

/// cos and sin are a table of the whole sequence that is not among the buffers: each rank takes its
/// first rows, those of the first tokens.
void injectMissingRopeBuffer(Seams& seams) {
  extend(seams.model.rotary, [](const SeamPlace&, at::Tensor& of_cos, at::Tensor& of_sin) {
    of_cos = of_sin = at::arange(of_cos.size(1), of_cos.options()).expand_as(of_cos);
  });
}

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
