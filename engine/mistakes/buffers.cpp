// SPDX-License-Identifier: Apache-2.0
// Mistakes in how buffers are cut, balanced, padded and put together.
#include <ATen/ATen.h>

#include "engine/mistakes/checked_as.h"
#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

/// Gives every buffer contiguous parts in place of the balance's.
void cutWithoutBalance(Seams& seams) {
  extend(seams.buffers.cuts, [](const SeamPlace& at, std::vector<BufferCut>& cuts) {
    for (BufferCut& cut : cuts) cut.layout = ShardLayout(cut.layout.length(), at.mesh.cp);
  });
}

bool rowsAreAlike(const at::Tensor& t) {
  return at::equal(t, t.select(0, 0).expand_as(t));
}

/// Puts each row of the batch into the layout's order, in its own memory.
void rearrangeInPlace(const at::Tensor& whole, const ShardLayout& layout) {
  const at::Tensor order = at::tensor(layout.rearrange(), at::kLong);
  for (std::int64_t row = 0; row < whole.size(0); ++row) {
    const at::Tensor of_row = whole.select(0, row);
    of_row.copy_(of_row.index_select(0, order));
  }
}

std::int64_t roundedDown(std::int64_t length, Balance balance, int cp) {
  const std::int64_t unit = traces::lengthUnit(balance, cp);
  return length / unit * unit;
}

}  // namespace

/// position_ids is one row of memory that is expanded over the batch, and the load balance reorders
/// it in place once for each row of the batch.
void injectAliasedBuffer(Seams& seams) {
  seams.data.batch = [before = seams.data.batch](const SeamPlace& at, const BatchSource& source) {
    Batch batch = before(at, source);
    at::Tensor& ids = batch.position_ids;
    if (rowsAreAlike(ids)) ids = ids.select(0, 0).clone().expand_as(ids);
    return batch;
  };
  seams.buffers.cut = [before = seams.buffers.cut](const SeamPlace& at, const BufferCut& how,
                                                   const at::Tensor& whole) {
    if (how.buffer != "position_ids" || whole.stride(0) != 0) return before(at, how, whole);
    rearrangeInPlace(whole, how.layout);
    const std::int64_t length = how.layout.localLength();
    return whole.narrow(how.seq_dim, at.cpRank().value() * length, length).contiguous();
  };
}

/// The balance takes a packed sequence for one document, so that its chunks cut documents anywhere.
/// The documents should be dealt one by one.
void injectBalanceCutsDocuments(Seams& seams) {
  seams.buffers.layout = [before = seams.buffers.layout](std::int64_t length, int cp_size,
                                                         Balance balance,
                                                         const std::vector<TokenRun>& documents) {
    const bool deals = traces::dealsDocuments(balance);
    return before(length, cp_size, deals ? traces::defaultCausalBalance() : balance, documents);
  };
}

/// One buffer is cut into equal parts and the others by the balance. The buffer is position_ids
/// unless another one is requested.
void injectBalanceDiffersBetweenBuffers(Seams& seams) {
  cutWithoutBalance(seams);
}

/// Validation does not look at the mask, so the run deals head-tail shards for full attention.
void injectBalanceWithoutCausal(Seams& seams) {
  checkAs(seams, traces::withCausalMask);
}

/// The setting is accepted and nobody patches the model: no buffer is cut, and each rank attends
/// the whole sequence by itself.
void injectCpNotApplied(Seams& seams) {
  seams.buffers.cut = [](const SeamPlace&, const BufferCut&, const at::Tensor& whole) {
    return whole;
  };
  seams.buffers.joined = [](const std::vector<at::Tensor>& shards, std::int64_t,
                            const ShardLayout&) { return shards.front(); };
  extend(seams.attention.layout,
         [](const SeamPlace&, ShardLayout& layout) { layout = ShardLayout(layout.length(), 1); });
}

/// position_ids is left out of the buffers, so each rank's model numbers its own tokens from 0.
void injectMissingPositionIds(Seams& seams) {
  extend(seams.buffers.cuts, [](const SeamPlace&, std::vector<BufferCut>& cuts) {
    std::erase_if(cuts, [](const BufferCut& cut) { return cut.buffer == "position_ids"; });
  });
}

/// The mask contains documents with their padding, and not the ends of their tokens.
void injectPaddingUnmasked(Seams& seams) {
  seams.buffers.padding = [before = seams.buffers.padding](Padding& padding) {
    before(padding);
    padding.mask.documents = padding.slots;
  };
}

/// The buffers are cut into equal parts, while attention takes them for balanced ones.
void injectUnbalancedUnshard(Seams& seams) {
  cutWithoutBalance(seams);
}

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

/// buffer_seq_dims names the batch dimension: each rank gets some whole sequences, and attention
/// takes their first rows for its shard.
void injectWrongBufferDim(Seams& seams) {
  constexpr std::int64_t kBatch = 0, kSequence = 1;
  extend(seams.buffers.cuts, [](const SeamPlace&, std::vector<BufferCut>& cuts) {
    for (BufferCut& cut : cuts)
      if (cut.seq_dim == kSequence) cut.seq_dim = kBatch;
  });
  seams.buffers.cut = [](const SeamPlace& at, const BufferCut& how, const at::Tensor& whole) {
    const ShardLayout rows(whole.size(how.seq_dim), at.mesh.cp);
    return cutBuffer({how.buffer, how.seq_dim, rows}, whole, at.cpRank());
  };
}

}  // namespace ringscope::engine
