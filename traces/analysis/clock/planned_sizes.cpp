// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/planned_sizes.h"

#include <algorithm>

#include "traces/plan/head_split.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// Backward computes the gradients of the input and of the weights.
std::int64_t passes(Direction direction) {
  return direction == Direction::kForward ? 1 : 2;
}

}  // namespace

PlannedSizes::PlannedSizes(const RunSpec& run, const ModelSizes& sizes)
    : part_(sizes.shard(run.tp)),
      sequences_(run.batch / run.dp),
      ulysses_(ulyssesSize(run)),
      element_(static_cast<std::int64_t>(byteSize(run.dtype))),
      sum_(std::max<std::int64_t>(4, element_)),
      fp8_(run.fp8),
      recompute_(run.recompute) {
  tokens_ = run.seq_len / run.cp * sequences_;
  const HeadSplit split = HeadSplit::of(part_.heads, part_.kv_heads, static_cast<int>(ulysses_));
  query_heads_ = split.query_heads;
  key_heads_ = std::ssize(split.kv_heads.front());
}

StageWork PlannedSizes::project(Direction direction) const {
  const std::int64_t width = (part_.heads + 2 * part_.kv_heads) * part_.head_dim;
  const std::int64_t rotated = (part_.heads + part_.kv_heads) * part_.head_dim;
  const std::int64_t times = passes(direction) * tokens_;
  return {2 * number(times * part_.hidden_size) * number(width),
          number(times * element_) * number(4 * part_.hidden_size + 4 * rotated)};
}

StageWork PlannedSizes::feedForward(Direction direction) const {
  const std::int64_t weights =
      part_.hidden_size * (part_.heads * part_.head_dim + 3 * part_.intermediate_size);
  const std::int64_t moved = 10 * part_.hidden_size + 5 * part_.intermediate_size;
  const StageWork once{2 * number(tokens_) * number(weights),
                       number(tokens_ * element_) * number(moved)};
  const double times = number(passes(direction));
  StageWork work{times * once.flops, times * once.memory_bytes};
  if (direction == Direction::kForward || !recompute_) return work;
  const StageWork projected = project(Direction::kForward);
  work.flops += once.flops + projected.flops;
  work.memory_bytes += once.memory_bytes + projected.memory_bytes;
  return work;
}

StageWork PlannedSizes::embed(Direction direction) const {
  // The gradient is as large as the embedding: it is cleared, then added to.
  const std::int64_t rows =
      direction == Direction::kForward ? 2 * tokens_ : 2 * tokens_ + 3 * part_.vocab_size;
  return {0, number(rows * part_.hidden_size * element_)};
}

StageWork PlannedSizes::loss(Direction direction) const {
  // Backward reads and writes the scores in fp32, twice.
  const std::int64_t score_bytes = direction == Direction::kForward ? element_ : 16;
  return {
      2 * number(passes(direction) * tokens_ * part_.hidden_size) * number(part_.vocab_size),
      number(tokens_) * number(4 * part_.hidden_size * element_ + part_.vocab_size * score_bytes)};
}

StageWork PlannedSizes::attend(Direction direction, std::int64_t pairs) const {
  const double of_all_heads = number(pairs) * number(query_heads_ * sequences_);
  return {attentionFlops(direction, of_all_heads, part_.head_dim), 0};
}

StageWork PlannedSizes::merge(bool first) const {
  const std::int64_t values = tokens_ * ulysses_ * query_heads_ * part_.head_dim;
  const std::int64_t converted = element_ < sum_ ? element_ + sum_ : 0;
  return {0, number(values) * number(first ? converted : 2 * sum_ + element_)};
}

StageWork PlannedSizes::mergeGradients(int blocks) const {
  const std::int64_t rows = tokens_ * blocks * ulysses_;
  return {0, number(2 * rows) * number(key_heads_ * part_.head_dim * 3 * sum_)};
}

StageWork PlannedSizes::passOverGradients(double passes) const {
  return {0, passes * number(gradientBytes())};
}

std::int64_t PlannedSizes::messageBytes(Cargo cargo) const {
  const std::int64_t head_bytes = part_.head_dim * element_, head_sums = part_.head_dim * sum_;
  const std::int64_t kv_rows = 2 * tokens_ * ulysses_ * key_heads_;
  const std::int64_t all_heads = query_heads_ + 2 * key_heads_;
  switch (cargo) {
    case Cargo::kKv:  // FP8 rows have a scale in fp32
      return kv_rows * (fp8_ ? part_.head_dim + 4 : head_bytes);
    case Cargo::kDkv:
      return kv_rows * head_sums;
    case Cargo::kQkvHeads:
      return tokens_ * all_heads * head_bytes;
    case Cargo::kOutHeads:
      return tokens_ * query_heads_ * head_bytes;
    case Cargo::kLseHeads:
      return tokens_ * query_heads_ * sum_;
    case Cargo::kGradHeads:
      return tokens_ * all_heads * head_sums;
  }
  return 0;
}

std::int64_t PlannedSizes::activationBytes() const {
  return tokens_ * part_.hidden_size * element_;
}
std::int64_t PlannedSizes::tokenSumBytes() const {
  return tokens_ * sum_;
}
std::int64_t PlannedSizes::gradientBytes() const {
  return part_.parameters() * sum_;
}

}  // namespace ringscope::traces
