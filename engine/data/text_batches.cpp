// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/data/padded_documents.h"
#include "traces/format/core/error.h"
#include "traces/format/core/hash.h"
#include "traces/format/core/input_file.h"

namespace ringscope::engine {
namespace {

/// Splits the text of a file into its documents.
std::vector<std::string> parted(const std::string& text, const std::string& separator) {
  if (separator.empty()) return {text};
  std::vector<std::string> documents;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) documents.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return documents;
}

class TextBatches : public BatchSource {
 public:
  TextBatches(const std::vector<std::string>& files, const Tokenizer& tokenizer,
              const TextOptions& options, std::int64_t unit)
      : options_(options), largest_(tokenizer.size() - 1) {
    for (const std::string& file : files)
      for (const std::string& document : parted(traces::readFile(file), options.separator)) {
        starts_.push_back(static_cast<std::int64_t>(tokens_.size()));
        const auto tokens = tokenizer.encode(document);
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
        while (static_cast<std::int64_t>(tokens_.size()) % unit != 0) tokens_.push_back(kPadding);
      }
    // A block needs one more token than its length: the label of its last token.
    blocks_ = (static_cast<std::int64_t>(tokens_.size()) - 1) / options.seq_len;
    if (tokens_.empty() || blocks_ < 1)
      throw inputError("the text holds " + std::to_string(tokens_.size()) +
                       " tokens; one block of " + std::to_string(options.seq_len) +
                       " tokens needs " + std::to_string(options.seq_len + 1));
  }

  Batch batch(std::int64_t train_step) const override {
    const std::int64_t rows = options_.batch_size, length = options_.seq_len;
    Batch batch{at::empty({rows, length}, at::kLong),
                at::empty({rows, length}, at::kLong),
                at::arange(length, at::kLong).expand({rows, length}).contiguous(),
                {}};
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t begin = blockAt(train_step * rows + row) * length;
      std::copy_n(tokens_.begin() + begin, length, batch.input_ids[row].data_ptr<std::int64_t>());
      std::copy_n(tokens_.begin() + begin + 1, length, batch.labels[row].data_ptr<std::int64_t>());
      if (options_.keep_documents) keepDocuments(batch, row, begin);
    }
    // Padding has no label, and the token before padding has no next token to predict.
    const at::Tensor padding =
        at::logical_or(batch.input_ids == kPadding, batch.labels == kPadding);
    batch.labels.masked_fill_(padding, kIgnored);
    batch.input_ids.clamp_min_(0);
    return batch;
  }
  std::int64_t sequenceLength() const override { return options_.seq_len; }
  std::int64_t batchSize() const override { return options_.batch_size; }
  std::int64_t largestToken() const override { return largest_; }
  std::uint64_t fingerprint() const override {
    return traces::mixSum64(tokens_.data(), tokens_.size() * sizeof(std::int64_t)) ^
           ~traces::mixSum64(starts_.data(), starts_.size() * sizeof(std::int64_t));
  }

 private:
  /// Adds the documents in the block of text that starts at `begin`.
  void keepDocuments(Batch& batch, std::int64_t row, std::int64_t begin) const {
    const std::int64_t end = begin + options_.seq_len;
    std::vector<std::int64_t> cu_seqlens = {0};
    for (auto start = std::upper_bound(starts_.begin(), starts_.end(), begin);
         start != starts_.end() && *start < end; ++start)
      cu_seqlens.push_back(*start - begin);
    cu_seqlens.push_back(options_.seq_len);
    for (std::size_t d = 0; d + 1 < cu_seqlens.size(); ++d) {
      const std::int64_t first = cu_seqlens[d], next = cu_seqlens[d + 1];
      batch.position_ids[row].slice(0, first, next).copy_(at::arange(next - first, at::kLong));
      if (std::binary_search(starts_.begin(), starts_.end(), begin + next))
        batch.labels[row][next - 1] = kIgnored;
    }
    batch.cu_seqlens.push_back(std::move(cu_seqlens));
  }

  /// Returns the n-th block to deal. Every pass over the text has a new random order.
  std::int64_t blockAt(std::int64_t n) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(blocks_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(options_.seed + static_cast<std::uint64_t>(n / blocks_));
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    return order[static_cast<std::size_t>(n % blocks_)];
  }

  static constexpr std::int64_t kIgnored = -100, kPadding = -1;

  TextOptions options_;
  std::int64_t largest_, blocks_ = 0;
  std::vector<std::int64_t> tokens_;
  std::vector<std::int64_t> starts_;  // of the documents, ascending
};

}  // namespace

std::unique_ptr<BatchSource> textBatches(const std::vector<std::string>& files,
                                         const Tokenizer& tokenizer, const TextOptions& options) {
  return paddedTextBatches(files, tokenizer, options, 1);
}

std::unique_ptr<BatchSource> paddedTextBatches(const std::vector<std::string>& files,
                                               const Tokenizer& tokenizer,
                                               const TextOptions& options, std::int64_t unit) {
  if (options.seq_len < 1 || options.batch_size < 1)
    throw usageError("--seq-len and --batch must be at least 1");
  return std::make_unique<TextBatches>(files, tokenizer, options, unit);
}

}  // namespace ringscope::engine
