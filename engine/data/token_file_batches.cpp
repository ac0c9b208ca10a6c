// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/data/padded_documents.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/error.h"
#include "traces/format/core/hash.h"

namespace ringscope::engine {
namespace {

class TokenFileBatches : public BatchSource {
 public:
  TokenFileBatches(const std::string& path, bool keep_documents) : keep_documents_(keep_documents) {
    const auto file = traces::SafeTensorsFile::read(path);
    auto read = [&](const char* name) { return toTensor(file.at(name), name).to(at::kLong); };
    input_ids_ = read("input_ids");
    labels_ = read("labels");
    if (input_ids_.dim() != 3 || input_ids_.numel() == 0)
      throw inputError(path + ": input_ids must have the shape [steps, B, S]");
    if (labels_.sizes() != input_ids_.sizes())
      throw inputError(path + ": labels are not shaped like input_ids");
    position_ids_ =
        file.contains("position_ids")
            ? read("position_ids")
            : at::arange(input_ids_.size(2), at::kLong).expand(input_ids_.sizes().slice(1));
    if (position_ids_.dim() == 2) position_ids_ = position_ids_.unsqueeze(0).expand_as(input_ids_);
    if (position_ids_.sizes() != input_ids_.sizes())
      throw inputError(path + ": position_ids must have the shape [steps, B, S] or [B, S]");
    if (input_ids_.min().item<std::int64_t>() < 0)
      throw inputError(path + ": input_ids holds negative tokens");
    if (at::logical_and(labels_ < 0, labels_ != kIgnored).any().item<bool>())
      throw inputError(path +
                       ": a label is a token, or -100 to be ignored; there are others below 0");
    if (position_ids_.min().item<std::int64_t>() < 0)
      throw inputError(path + ": position_ids holds negative positions");
  }
  /// Throws inputError if the length of a document in any sequence is not a multiple of `unit`.
  void requireMultiples(const std::string& path, std::int64_t unit) const {
    for (std::int64_t step = 0; step < input_ids_.size(0); ++step)
      for (const auto& ends : batch(step).cu_seqlens)
        for (std::size_t d = 0; d + 1 < ends.size(); ++d)
          if (const std::int64_t length = ends[d + 1] - ends[d]; length % unit != 0)
            throw inputError(path + ": a document of " + std::to_string(length) +
                             " tokens in step " + std::to_string(step) + " does not divide into " +
                             std::to_string(unit) +
                             " chunks, which --balance per_document needs; pad it with labels "
                             "-100, or use head_tail, striped or none");
  }
  Batch batch(std::int64_t train_step) const override {
    const std::int64_t i = train_step % input_ids_.size(0);
    Batch batch{
        input_ids_[i].contiguous(), labels_[i].contiguous(), position_ids_[i].contiguous(), {}};
    if (keep_documents_)
      for (std::int64_t row = 0; row < batchSize(); ++row)
        batch.cu_seqlens.push_back(documentsOf(batch.position_ids[row]));
    return batch;
  }
  std::int64_t sequenceLength() const override { return input_ids_.size(2); }
  std::int64_t batchSize() const override { return input_ids_.size(1); }
  std::int64_t largestToken() const override {
    return std::max(input_ids_.max().item<std::int64_t>(), labels_.max().item<std::int64_t>());
  }
  std::uint64_t fingerprint() const override {
    std::uint64_t all = 0;
    for (const at::Tensor& t : {input_ids_, labels_, position_ids_}) {
      const at::Tensor whole = t.contiguous();
      all = all * 3 + traces::mixSum64(whole.const_data_ptr(), whole.nbytes());
    }
    return all;
  }

 private:
  /// Returns cumulative lengths of documents. A document begins where a position id is 0.
  static std::vector<std::int64_t> documentsOf(const at::Tensor& position_ids) {
    std::vector<std::int64_t> cu_seqlens = {0};
    const auto* ids = position_ids.const_data_ptr<std::int64_t>();
    for (std::int64_t s = 1; s < position_ids.numel(); ++s)
      if (ids[s] == 0) cu_seqlens.push_back(s);
    cu_seqlens.push_back(position_ids.numel());
    return cu_seqlens;
  }

  static constexpr std::int64_t kIgnored = -100;

  bool keep_documents_;
  at::Tensor input_ids_, labels_, position_ids_;
};

}  // namespace

std::unique_ptr<BatchSource> tokenFileBatches(const std::string& path, bool keep_documents) {
  return std::make_unique<TokenFileBatches>(path, keep_documents);
}

std::unique_ptr<BatchSource> wholeDocumentBatches(const std::string& path, std::int64_t unit) {
  auto batches = std::make_unique<TokenFileBatches>(path, true);
  batches->requireMultiples(path, unit);
  return batches;
}

}  // namespace ringscope::engine
