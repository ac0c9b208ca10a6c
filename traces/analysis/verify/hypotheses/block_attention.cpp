// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/hypotheses/block_attention.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "traces/analysis/verify/recompute/log_sum.h"

namespace ringscope::traces {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Merge = BlockedAttention::Merge;

/// A row's running result.
struct Running {
  double lse = -kInfinity;
  std::vector<double> out;
};

/// One row of one query head at a time.
class Rows {
 public:
  Rows(const AttentionInputs& in, const BlockedAttention& how)
      : in_(in),
        how_(how),
        q_(how.q.empty() ? in.q : std::span<const double>(how.q)),
        k_(how.k.empty() ? in.k : std::span<const double>(how.k)),
        v_(how.v.empty() ? in.v : std::span<const double>(how.v)),
        width_(static_cast<std::size_t>(in.head_dim)) {
    const auto rows = static_cast<std::size_t>(in.batch * in.heads * in.rows());
    values_.out.assign(in.q.size(), 0);
    values_.lse.assign(rows, -kInfinity);
    if (!hasBackward()) return;
    values_.delta.assign(rows, 0);
    values_.dq.assign(in.q.size(), 0);
    values_.dk.assign(in.k.size(), 0);
    values_.dv.assign(in.k.size(), 0);
  }

  AttentionValues run() {
    for (std::int64_t group = 0; group < in_.batch; ++group)
      for (std::int64_t head = 0; head < in_.heads; ++head)
        for (std::size_t row = 0; row < in_.q_tokens.size(); ++row) compute({group, head, row});
    return std::move(values_);
  }

 private:
  bool hasBackward() const { return !in_.dout.empty() && !how_.isForwardOnly(); }
  std::size_t indexOf(const BlockRow& at) const {
    return static_cast<std::size_t>(at.group * in_.heads + at.head) * in_.q_tokens.size() + at.row;
  }
  std::size_t keyAt(const BlockRow& at, std::size_t token) const {
    const std::int64_t head = how_.k.empty() ? at.group : at.group * in_.heads + at.head;
    return (static_cast<std::size_t>(head) * in_.k_tokens.size() + token) * width_;
  }
  double dot(std::span<const double> a, std::size_t at_a, std::span<const double> b,
             std::size_t at_b) const {
    double sum = 0;
    for (std::size_t d = 0; d < width_; ++d) sum += a[at_a + d] * b[at_b + d];
    return sum;
  }
  double score(const BlockRow& at, const UsedKey& key) const {
    return in_.score(dot(q_, indexOf(at) * width_, k_, keyAt(at, key.values)));
  }

  /// Attention of one block by itself.
  Running attend(const BlockRow& at, const KeyBlock& block) const {
    Running result{-kInfinity, std::vector<double>(width_, 0)};
    std::vector<double> scores;
    scores.reserve(block.keys.size());
    double largest = -kInfinity, sum = 0;
    for (const UsedKey& key : block.keys)
      largest = std::max(largest, scores.emplace_back(score(at, key)));
    for (const double value : scores) sum += std::exp(value - largest);
    result.lse = block.keys.empty() ? -kInfinity : largest + std::log(sum);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double weight = std::exp(scores[i] - result.lse);
      const std::size_t value = keyAt(at, block.keys[i].values);
      for (std::size_t d = 0; d < width_; ++d) result.out[d] += weight * v_[value + d];
    }
    return result;
  }

  void merge(Running& running, const Running& block, Merge by) const {
    const double lse = by == Merge::kBaseTwo ? block.lse / std::numbers::ln2 : block.lse;
    if (lse == -kInfinity) return;
    const double base = by == Merge::kPowersOfTwo ? std::numbers::ln2 : 1,
                 together = logOfSum(running.lse * base, lse * base) / base;
    const bool plain = by == Merge::kPlainSum || by == Merge::kMean;
    const double of_running = plain ? 1 : std::exp((running.lse - together) * base),
                 of_block = plain ? 1 : std::exp((lse - together) * base);
    for (std::size_t d = 0; d < width_; ++d) {
      running.out[d] = of_running * running.out[d] + of_block * block.out[d];
      if (how_.round_out) running.out[d] = how_.round_out(running.out[d]);
    }
    running.lse = how_.round_lse ? how_.round_lse(together) : together;
  }

  void compute(const BlockRow& at) {
    const std::size_t row = indexOf(at);
    Running running{-kInfinity, std::vector<double>(width_, 0)};
    for (const KeyBlock& block : how_.forward(at)) merge(running, attend(at, block), how_.merge);
    if (how_.merge == Merge::kMean)
      for (double& value : running.out) value /= how_.divisor;
    if (!in_.sinks.empty())  // which joins when all blocks are together
      merge(running,
            {in_.sinks[static_cast<std::size_t>(at.group * in_.heads + at.head)],
             std::vector<double>(width_, 0)},
            Merge::kWeighted);
    std::ranges::copy(running.out, values_.out.begin() + static_cast<std::ptrdiff_t>(row * width_));
    values_.lse[row] = running.lse;
    if (hasBackward()) computeGradients(at, running);
  }

  void computeGradients(const BlockRow& at, const Running& running) {
    const KeyBlocks blocks = how_.backward(at);
    values_.delta[indexOf(at)] = dot(in_.dout, indexOf(at) * width_, running.out, 0);
    for (std::size_t first = 0; first < blocks.size();) {
      std::size_t end = first;
      Running stage{-kInfinity, std::vector<double>(width_, 0)};
      for (; end < blocks.size() && blocks[end].source == blocks[first].source; ++end)
        if (how_.delta_of_stage || how_.lse_of_stage)
          merge(stage, attend(at, blocks[end]), how_.merge);
      for (; first < end; ++first)
        addGradients(at, blocks[first], how_.lse_of_stage ? stage.lse : running.lse,
                     how_.delta_of_stage ? stage.out : running.out);
    }
  }

  void addGradients(const BlockRow& at, const KeyBlock& block, double lse,
                    const std::vector<double>& out) {
    const std::size_t row = indexOf(at) * width_;
    const double delta = dot(in_.dout, row, out, 0);
    for (const UsedKey& key : block.keys) {
      const std::size_t used = keyAt(at, key.values),
                        target = keyAt(at, key.target == kNowhere ? 0 : key.target);
      const double of_key = score(at, key), weight = std::exp(of_key - lse),
                   gradient = in_.scale * in_.slope(of_key) * weight *
                              (dot(in_.dout, row, in_.v, used) - delta);
      for (std::size_t d = 0; d < width_; ++d) {
        values_.dq[row + d] += gradient * in_.k[used + d];
        if (key.target == kNowhere) continue;
        values_.dk[target + d] += gradient * in_.q[row + d];
        values_.dv[target + d] += weight * in_.dout[row + d];
      }
    }
  }

  const AttentionInputs& in_;
  const BlockedAttention& how_;
  std::span<const double> q_, k_, v_;
  std::size_t width_;
  AttentionValues values_;
};

}  // namespace

AttentionValues attendInBlocks(const AttentionInputs& in, const BlockedAttention& how) {
  in.check();
  return Rows(in, how).run();
}

}  // namespace ringscope::traces
