// SPDX-License-Identifier: Apache-2.0
#include "engine/data/joined_sequences.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

class JoinedSequences : public BatchSource {
 public:
  JoinedSequences(std::unique_ptr<BatchSource> source, std::int64_t count)
      : source_(std::move(source)), count_(count), each_(source_->batchSize() / count) {}

  Batch batch(std::int64_t train_step) const override {
    const Batch apart = source_->batch(train_step);
    const auto joined = [&](const at::Tensor& t) { return t.reshape({count_, -1}); };
    Batch batch{joined(apart.input_ids), joined(apart.labels), joined(apart.position_ids), {}};
    for (std::int64_t i = 0; i < count_; ++i) {
      std::vector<std::int64_t> ends = {0};
      for (std::int64_t part = 0; part < each_; ++part)
        for (const std::int64_t end :
             apart.cu_seqlens.at(static_cast<std::size_t>(i * each_ + part)))
          if (end > 0) ends.push_back(part * source_->sequenceLength() + end);
      batch.cu_seqlens.push_back(std::move(ends));
    }
    return batch;
  }
  std::int64_t sequenceLength() const override { return source_->sequenceLength() * each_; }
  std::int64_t batchSize() const override { return count_; }
  std::int64_t largestToken() const override { return source_->largestToken(); }
  std::uint64_t fingerprint() const override { return source_->fingerprint(); }

 private:
  std::unique_ptr<BatchSource> source_;
  std::int64_t count_, each_;
};

}  // namespace

std::unique_ptr<BatchSource> joinSequences(std::unique_ptr<BatchSource> source,
                                           std::int64_t count) {
  return std::make_unique<JoinedSequences>(std::move(source), count);
}

}  // namespace ringscope::engine
