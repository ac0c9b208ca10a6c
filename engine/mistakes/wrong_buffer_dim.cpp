// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/mistakes/refused_where.h"

namespace ringscope::engine {
namespace {

std::optional<std::string> whyNoOtherDim(const traces::RunSpec& run) {
  if (run.command != traces::Command::kTrain)
    return "wrong_buffer_dim cuts the batch of a training step; use train";
  if (run.cp == 1) return "wrong_buffer_dim changes nothing on one rank; use a --cp above 1";
  const std::string ends = ", and such a run ends at once over shapes that do not fit";
  if (run.batch / run.dp % run.cp != 0)
    return "wrong_buffer_dim cuts the sequences of a batch: of " +
           std::to_string(run.batch / run.dp) +
           " they do not divide among cp = " + std::to_string(run.cp) + " ranks" + ends +
           "; use a --batch of " + std::to_string(run.cp * run.dp) + " and no documents";
  if (run.strategy == traces::Strategy::kUlysses || run.strategy == traces::Strategy::kHybrid)
    return "wrong_buffer_dim leaves sequences whole, which Ulysses ranks take for a part" + ends +
           "; use --strategy ring or all_gather";
  if (std::ranges::count(run.buffers, traces::kRotaryTable, &traces::BufferChoice::name) > 0)
    return "wrong_buffer_dim leaves sequences whole beside a part of freqs_cis" + ends +
           "; leave that out of the buffers";
  if (run.verify)
    return "wrong_buffer_dim leaves other sequences on each rank, and --verify puts shards of one "
           "together; leave one out";
  return {};
}

}  // namespace

/// buffer_seq_dims names the batch dimension: each rank gets whole sequences, some of them, and
/// attention takes their first rows for its shard.
void injectWrongBufferDim(Seams& seams) {
  constexpr std::int64_t kBatch = 0, kSequence = 1;
  extend(seams.buffers.cuts, [](const SeamPlace&, std::vector<BufferCut>& cuts) {
    for (BufferCut& cut : cuts)
      if (cut.seq_dim == kSequence) cut.seq_dim = kBatch;
  });
  seams.buffers.cut = [](const SeamPlace& at, const BufferCut& how, const at::Tensor& whole) {
    const ShardLayout rows(whole.size(how.seq_dim), at.mesh.cp, Balance::kNone);
    return cutBuffer({how.buffer, how.seq_dim, rows}, whole, at.cpRank());
  };
  refuseWhere(seams, whyNoOtherDim);
}

}  // namespace ringscope::engine
