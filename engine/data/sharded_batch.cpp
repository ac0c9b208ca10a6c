// SPDX-License-Identifier: Apache-2.0
#include "engine/data/sharded_batch.h"

#include <ATen/ATen.h>

#include "engine/data/sharded_buffers.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {
at::Tensor shardFor(const at::Tensor& full, std::int64_t seq_dim, const ShardLayout& layout,
                    GroupRank rank) {
  std::vector<at::Tensor> parts;
  for (const TokenRun& run : layout.runs(rank))
    parts.push_back(full.slice(seq_dim, run.begin, run.end));
  return at::cat(parts, seq_dim);
}

at::Tensor unshard(const std::vector<at::Tensor>& shards, std::int64_t seq_dim,
                   const ShardLayout& layout) {
  return at::cat(shards, seq_dim).index_select(seq_dim, at::tensor(layout.restore(), at::kLong));
}

at::Tensor cutBuffer(const BufferCut& cut, const at::Tensor& whole, GroupRank rank) {
  at::Tensor part = whole;
  const ShardedBuffers sharded({{&part, cut.seq_dim, false}}, cut.layout, rank);
  return part;
}

std::vector<TokenRun> tokensOfPart(const BufferCut& cut, const at::Tensor& whole,
                                   const at::Tensor& part, std::int64_t seq_dim, GroupRank rank) {
  if (cut.seq_dim != seq_dim) return {};
  const std::int64_t tokens = part.size(seq_dim);
  if (tokens == cut.layout.localLength()) return cut.layout.runs(rank);
  if (tokens == whole.size(seq_dim)) return {{0, tokens}};
  return {};
}

at::Tensor localPart(const std::string& buffer, const at::Tensor& whole,
                     const std::vector<BufferCut>& cuts, const CutRule& rule) {
  for (const BufferCut& cut : cuts)
    if (cut.buffer == buffer) return rule(cut, whole);
  return whole;
}

std::vector<BufferCut> bufferCuts(const std::vector<traces::BufferChoice>& buffers,
                                  const ShardLayout& layout) {
  std::vector<BufferCut> cuts;
  cuts.reserve(buffers.size());
  for (const traces::BufferChoice& choice : buffers)
    cuts.push_back({choice.name, choice.seq_dim, layout});
  return cuts;
}

namespace {

constexpr std::pair<const char*, at::Tensor Batch::*> kBuffers[] = {
    {"input_ids", &Batch::input_ids},
    {"labels", &Batch::labels},
    {"position_ids", &Batch::position_ids}};
constexpr std::int64_t kSequence = 1;  // sequence dimension of all three buffers

}  // namespace

Batch cutBatch(const Batch& batch, const std::vector<BufferCut>& cuts, const CutRule& rule) {
  Batch local{batch.input_ids, batch.labels, {}, {}};
  for (const BufferCut& cut : cuts)
    for (const auto& [name, field] : kBuffers)
      if (cut.buffer == name) local.*field = rule(cut, batch.*field);
  if (!local.position_ids.defined())
    local.position_ids =
        at::arange(local.input_ids.size(1), at::kLong).expand(local.input_ids.sizes()).contiguous();
  return local;
}

Batch shardBatch(const Batch& batch, const std::vector<BufferCut>& cuts, const CutRule& rule,
                 GroupRank rank, Observer& observer, std::int32_t train_step) {
  Batch local = cutBatch(batch, cuts, rule);
  for (const BufferCut& cut : cuts)
    for (const auto& [name, field] : kBuffers) {
      if (cut.buffer != name) continue;
      const at::Tensor& whole = batch.*field;
      observer.shard({name, train_step, observer.rank(), true,
                      static_cast<std::int32_t>(cut.seq_dim), whole.sizes().vec(),
                      (local.*field).sizes().vec(),
                      tokensOfPart(cut, whole, local.*field, kSequence, rank)});
    }
  return local;
}

void recordBuffers(const Batch& local, const std::vector<BufferCut>& cuts, Observer& observer,
                   std::int32_t train_step) {
  for (const BufferCut& cut : cuts)
    for (const auto& [name, field] : kBuffers)
      if (cut.buffer == name)
        observer.tensor({traces::TensorKind::kBuffer, name}, {train_step}, local.*field);
}

}  // namespace ringscope::engine
