// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <random>

#include "engine/data/batch.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw inputError(path + ": no such file");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class TextBatches : public BatchSource {
 public:
  TextBatches(const std::vector<std::string>& files, std::int64_t seq_len, std::int64_t batch_size,
              std::uint64_t seed)
      : seq_len_(seq_len), batch_size_(batch_size), seed_(seed) {
    for (const std::string& file : files) text_ += readFile(file);
    // A block needs one byte more than its length: the label of its last token.
    blocks_ = (static_cast<std::int64_t>(text_.size()) - 1) / seq_len;
    if (text_.empty() || blocks_ < 1)
      throw inputError("the text holds " + std::to_string(text_.size()) + " bytes; one block of " +
                       std::to_string(seq_len) + " tokens needs " + std::to_string(seq_len + 1));
  }

  Batch batch(std::int64_t train_step) const override {
    Batch batch{at::empty({batch_size_, seq_len_}, at::kLong),
                at::empty({batch_size_, seq_len_}, at::kLong),
                at::arange(seq_len_, at::kLong).expand({batch_size_, seq_len_}).contiguous()};
    for (std::int64_t row = 0; row < batch_size_; ++row) {
      const std::int64_t begin = blockAt(train_step * batch_size_ + row) * seq_len_;
      auto* ids = batch.input_ids[row].data_ptr<std::int64_t>();
      auto* labels = batch.labels[row].data_ptr<std::int64_t>();
      for (std::int64_t s = 0; s < seq_len_; ++s) {
        ids[s] = byteAt(begin + s);
        labels[s] = byteAt(begin + s + 1);
      }
    }
    return batch;
  }
  std::int64_t sequenceLength() const override { return seq_len_; }
  std::int64_t batchSize() const override { return batch_size_; }
  std::int64_t largestToken() const override { return 255; }

 private:
  std::int64_t byteAt(std::int64_t i) const {
    return static_cast<unsigned char>(text_[static_cast<std::size_t>(i)]);
  }
  /// The block that is dealt as number n: a new seeded order for every pass over the text.
  std::int64_t blockAt(std::int64_t n) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(blocks_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed_ + static_cast<std::uint64_t>(n / blocks_));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    return order[static_cast<std::size_t>(n % blocks_)];
  }

  std::string text_;
  std::int64_t seq_len_, batch_size_, blocks_ = 0;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<BatchSource> textBatches(const std::vector<std::string>& files,
                                         std::int64_t seq_len, std::int64_t batch_size,
                                         std::uint64_t seed) {
  if (seq_len < 1 || batch_size < 1) throw usageError("--seq-len and --batch must be at least 1");
  return std::make_unique<TextBatches>(files, seq_len, batch_size, seed);
}

}  // namespace ringscope::engine
