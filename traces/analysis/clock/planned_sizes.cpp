// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/analysis/clock/planned_program.h"
#include "traces/format/core/error.h"
#include "traces/format/schema/key_head_copies.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// How often the gradients' bytes are moved: to join them into one message; to read them; AdamW
/// reads gradient, both moments and the weight, and writes all but the gradient.
constexpr double kSyncPasses = 2, kClipPasses = 1, kOptimizerPasses = 7;

/// How much longer than its share of `parts` the one of `threads` takes that has most of them.
double shareOfLongest(std::int64_t parts, std::int64_t threads) {
  return number((parts + threads - 1) / threads * threads) / number(parts);
}

double timeAt(double work, double rate) {
  return work > 0 ? work / rate : 0;
}

/// Backward needs the gradient of the input and of the weights.
double passes(Direction direction) {
  return direction == Direction::kForward ? 1 : 2;
}

}  // namespace

DeviceSpeed speedOf(const DeviceRates& device, const RunSpec& run, double efficiency) {
  constexpr double kTera = 1e12;
  const bool narrow = run.dtype == DType::kBFloat16 || run.dtype == DType::kFloat16;
  const double peak = (narrow ? device.bf16_teraflops : device.fp32_teraflops) * kTera;
  DeviceSpeed speed;
  speed.name = device.name;
  speed.matmul_flops = speed.attention_flops = speed.attention_backward_flops = peak * efficiency;
  speed.memory_bytes = device.memory_gigabytes_per_second * 1e9 * efficiency;
  return speed;
}

double StageWork::seconds(const DeviceSpeed& device, EventKind kind, Direction direction) const {
  if (device.measured) {
    const BetweenCost& between = device.measured->between;
    const double beside = between.per_event * events + between.per_byte * memory_bytes;
    const StageSample done = parts();
    if (done.empty()) return beside;
    const auto cost = device.measured->stages.find({kind, direction});
    if (cost == device.measured->stages.end())
      throw usageError(std::string("no recording to calibrate by has a stage '") + name(kind) +
                       "' in " + name(direction) + "; add one of a run that has");
    return cost->second.secondsOf(done) + beside;
  }
  return timeAt(matmul_flops, device.matmul_flops) +
         timeAt(attention_flops, device.attention_flops) +
         timeAt(attention_backward_flops, device.attention_backward_flops) +
         timeAt(memory_bytes, device.memory_bytes);
}

double StageWork::memoryShare(const DeviceSpeed& device) const {
  const double memory = timeAt(memory_bytes, device.memory_bytes);
  const double products = timeAt(matmul_flops, device.matmul_flops) +
                          timeAt(attention_flops, device.attention_flops) +
                          timeAt(attention_backward_flops, device.attention_backward_flops);
  return memory > 0 ? memory / (memory + products) : 0;
}

StageSample StageWork::parts() const {
  StageSample parts;
  parts.calls = calls;
  parts.flops =
      matmul_flops + attention_flops + attention_backward_flops + masked_flops - small_flops;
  parts.bytes = memory_bytes + operand_bytes;
  parts.scores = scores;
  parts.tiles = tiles;
  parts.small_flops = small_flops;
  parts.far_bytes = far_share * parts.bytes;
  return parts;
}

PlannedSizes::PlannedSizes(const RunSpec& run, const ModelSizes& sizes)
    : hidden_(sizes.hidden_size),
      inner_(sizes.intermediate_size / run.tp),
      vocab_(sizes.vocab_size / run.tp),
      layers_(sizes.layers),
      head_dim_(sizes.head_dim),
      q_heads_(sizes.heads / run.tp),
      kv_heads_(std::max<std::int64_t>(1, sizes.kv_heads / run.tp)),
      embeddings_((sizes.tied_embeddings ? 1 : 2) * vocab_ * hidden_),
      tensors_(9 * layers_ + (sizes.tied_embeddings ? 2 : 3)),
      ulysses_(ulyssesSize(run)),
      sequences_(run.batch / run.dp),
      element_(number(static_cast<std::int64_t>(sizeOf(run.dtype)))),
      sum_(std::max(4.0, element_)),
      fp8_(run.fp8),
      recompute_(run.recompute) {
  tokens_ = run.seq_len / run.cp * sequences_;
  q_heads_here_ = q_heads_ / ulysses_;
  // A query head's KV head goes with it; where ranks would need unequal numbers, a copy for each.
  const std::int64_t shares = std::max<std::int64_t>(1, q_heads_ / kv_heads_);
  kv_heads_here_ = q_heads_here_ % shares == 0   ? q_heads_here_ / shares
                   : shares % q_heads_here_ == 0 ? 1
                                                 : q_heads_here_;
}

StageWork PlannedSizes::ofLayer() const {
  StageWork work;
  work.far_share = number(layers_ - 1) / number(layers_);
  return work;
}

double PlannedSizes::movedBytes() const {
  const auto both = [this](auto stage) {
    double bytes = 0;
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      const StageWork work = (this->*stage)(direction);
      bytes += work.memory_bytes + work.operand_bytes;
    }
    return bytes;
  };
  return number(layers_) * (both(&PlannedSizes::project) + both(&PlannedSizes::feedForward)) +
         both(&PlannedSizes::loss) + both(&PlannedSizes::embed) +
         (kSyncPasses + kClipPasses + kOptimizerPasses) * number(gradientBytes());
}

/// Of the parameters, each once a step. The more a step moves the less of them the caches still
/// hold; how large those are matters little: 64 MB to 1 GB fit recordings equally well.
StageWork PlannedSizes::ofParameters(double passes) const {
  constexpr double kCaches = 128e6;
  const double moved = movedBytes();
  StageWork work;
  work.far_share = moved / (moved + kCaches);
  work.memory_bytes = passes * number(gradientBytes());
  work.calls = number(tensors_);
  return work;
}

StageWork PlannedSizes::project(Direction direction) const {
  StageWork work = ofLayer();
  const double width = number((q_heads_ + 2 * kv_heads_) * head_dim_);
  work.matmul_flops = passes(direction) * 2 * number(tokens_ * hidden_) * width;
  work.operand_bytes = passes(direction) * number(hidden_) * width * element_;
  const double turned = number((q_heads_ + kv_heads_) * head_dim_);
  work.memory_bytes =
      passes(direction) * number(tokens_) * element_ * (4 * number(hidden_) + 4 * turned);
  return work;
}

StageWork PlannedSizes::feedForward(Direction direction) const {
  StageWork work = ofLayer();
  const double once = 2 * number(tokens_) * number(hidden_ * (q_heads_ * head_dim_ + 3 * inner_));
  const double moved = number(tokens_) * element_ * number(10 * hidden_ + 5 * inner_);
  work.matmul_flops = passes(direction) * once;
  work.memory_bytes = passes(direction) * moved;
  const double weights = number(hidden_ * (q_heads_ * head_dim_ + 3 * inner_)) * element_;
  work.operand_bytes = passes(direction) * weights;
  if (direction == Direction::kForward || !recompute_) return work;
  const StageWork again = project(Direction::kForward);
  work.matmul_flops += once + again.matmul_flops;
  work.memory_bytes += moved + again.memory_bytes;
  work.operand_bytes += weights + again.operand_bytes;
  return work;
}

StageWork PlannedSizes::embed(Direction direction) const {
  StageWork work;
  work.memory_bytes = 2 * number(tokens_ * hidden_) * element_;
  // The gradient of the embedding is as large as the embedding: cleared, then added.
  if (direction == Direction::kBackward)
    work.memory_bytes += 3 * number(vocab_ * hidden_) * element_;
  return work;
}

StageWork PlannedSizes::loss(Direction direction) const {
  StageWork work;
  work.matmul_flops = passes(direction) * 2 * number(tokens_ * hidden_) * number(vocab_);
  work.operand_bytes = passes(direction) * number(hidden_ * vocab_) * element_;
  const bool forward = direction == Direction::kForward;
  work.memory_bytes = number(tokens_) * (4 * number(hidden_) * element_ +
                                         number(vocab_) * (forward ? element_ : 4 * 4));
  return work;
}

StageWork PlannedSizes::attend(Direction direction, std::int64_t pairs,
                               const KernelWork& kernel) const {
  StageWork work = ofLayer();
  const bool forward = direction == Direction::kForward;
  const std::int64_t key_heads = kv_heads_here_ * sequences_,
                     copies =
                         keyHeadCopies(key_heads, q_heads_here_ / kv_heads_here_, kernel.threads);
  const double heads = number(q_heads_here_ * sequences_),
               once = (forward ? 1 : 2.5) * 4 * number(head_dim_) * heads;
  // Backward some threads have nothing to do where what they share does not divide among them.
  const auto longest = [&](bool copied) {
    return forward ? 1 : shareOfLongest(copied ? key_heads * copies : key_heads, kernel.threads);
  };
  const double slow = longest(element_ >= 4), small_slow = longest(true);
  const double nominal = once * slow * number(pairs);
  (forward ? work.attention_flops : work.attention_backward_flops) = nominal;
  work.small_flops = once * small_slow * number(kernel.small_pairs);
  const std::int64_t large_pairs = kernel.pairs - kernel.small_pairs;
  work.masked_flops = once * slow * number(large_pairs) + work.small_flops - nominal;
  work.scores = heads * slow * number(large_pairs);
  work.tiles = heads * slow * number(kernel.tiles);
  work.calls = number(kernel.calls);
  const double rows = number(tokens_ * ulysses_ * q_heads_here_ * head_dim_) * element_;
  work.operand_bytes = passes(direction) * 2 * rows;
  work.events = number(kernel.pieces);
  return work;
}

StageWork PlannedSizes::merge(const KernelWork& kernel) const {
  StageWork work = ofLayer();
  const double rows = number(kernel.rows * sequences_ * q_heads_here_ * head_dim_);
  work.memory_bytes = rows * (2 * sum_ + element_);
  work.calls = work.events = number(kernel.pieces);
  return work;
}

StageWork PlannedSizes::takeOver(const KernelWork& kernel) const {
  StageWork work = ofLayer();
  const double rows = number(kernel.rows * sequences_ * q_heads_here_ * head_dim_);
  const bool in_sums = kernel.calls > 1 || kernel.small_pairs > 0;
  if (element_ < sum_ && !in_sums) work.memory_bytes = rows * (element_ + sum_);
  work.calls = 0;
  return work;
}

StageWork PlannedSizes::mergeGradients(std::int64_t blocks) const {
  StageWork work = ofLayer();
  const double rows = number(tokens_ * blocks) * ulysses_;
  work.memory_bytes = 2 * rows * number(kv_heads_here_ * head_dim_) * 3 * sum_;
  return work;
}

StageWork PlannedSizes::gradSync() const {
  return ofParameters(kSyncPasses);
}

StageWork PlannedSizes::clip() const {
  return ofParameters(kClipPasses);
}

StageWork PlannedSizes::optimizer() const {
  return ofParameters(kOptimizerPasses);
}

std::int64_t PlannedSizes::kvBytes() const {
  const std::int64_t rows = 2 * tokens_ * ulysses_ * kv_heads_here_;
  if (fp8_) return rows * (head_dim_ + 4);  // a scale for each row
  return rows * head_dim_ * static_cast<std::int64_t>(element_);
}
std::int64_t PlannedSizes::dkvBytes() const {
  return 2 * tokens_ * ulysses_ * kv_heads_here_ * head_dim_ * static_cast<std::int64_t>(sum_);
}
std::int64_t PlannedSizes::qkvHeadsBytes() const {
  return tokens_ * (q_heads_here_ + 2 * kv_heads_here_) * head_dim_ *
         static_cast<std::int64_t>(element_);
}
std::int64_t PlannedSizes::outHeadsBytes() const {
  return tokens_ * q_heads_here_ * head_dim_ * static_cast<std::int64_t>(element_);
}
std::int64_t PlannedSizes::lseHeadsBytes() const {
  return tokens_ * q_heads_here_ * static_cast<std::int64_t>(sum_);
}
std::int64_t PlannedSizes::gradHeadsBytes() const {
  return tokens_ * (q_heads_here_ + 2 * kv_heads_here_) * head_dim_ *
         static_cast<std::int64_t>(sum_);
}
std::int64_t PlannedSizes::activationBytes() const {
  return tokens_ * hidden_ * static_cast<std::int64_t>(element_);
}
std::int64_t PlannedSizes::tokenSumBytes() const {
  return tokens_ * static_cast<std::int64_t>(sum_);
}
std::int64_t PlannedSizes::gradientBytes() const {
  const std::int64_t of_layer =
      hidden_ * head_dim_ * (2 * q_heads_ + 2 * kv_heads_) + 3 * hidden_ * inner_;
  const std::int64_t norms = (2 * layers_ + 1) * hidden_;
  return (layers_ * of_layer + norms + embeddings_) * static_cast<std::int64_t>(sum_);
}

}  // namespace ringscope::traces
