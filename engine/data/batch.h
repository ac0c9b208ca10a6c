// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/data/tokenizer.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// The whole batch of one training step, before sharding. input_ids, labels, position_ids: [B, S]
/// int64. Labels are shifted already: labels[s] is the token after input_ids[s]; -100 is ignored.
struct Batch {
  at::Tensor input_ids, labels, position_ids;
  /// For each sequence, the cumulative lengths [0, …, S] of the documents packed into it. Empty:
  /// every sequence is one document.
  std::vector<std::vector<std::int64_t>> cu_seqlens;

  /// Returns the mask of one sequence: `mask` if there are no cu_seqlens, otherwise causal
  /// attention within each document, with the window of `mask`.
  Mask maskFor(const Mask& mask, std::int64_t sequence) const;
  /// Returns the batch on a device.
  Batch on(at::Device device) const;
  /// Returns sequences [begin, end) of the batch.
  Batch sequences(std::int64_t begin, std::int64_t end) const;
};

/// A source of whole batches, equal on all ranks; each dp rank later takes its sequences.
/// Thread-safe after construction.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Returns the batch of a training step. Sources repeat their data when it is used up.
  virtual Batch batch(std::int64_t train_step) const = 0;
  virtual std::int64_t sequenceLength() const = 0;
  virtual std::int64_t batchSize() const = 0;
  /// Returns an upper bound of the token ids in inputs and labels.
  virtual std::int64_t largestToken() const = 0;
  /// Returns a hash of all data.
  virtual std::uint64_t fingerprint() const = 0;
};

/// The options for cutting text into blocks.
struct TextOptions {
  std::int64_t seq_len = 256, batch_size = 1;
  std::uint64_t seed = 0;
  /// If true, attention ends at the borders of documents. Position ids restart in each document,
  /// and its last token has no label.
  bool keep_documents = false;
  /// The separator between documents in a file; it is removed. Empty: each file is one document.
  std::string separator;
};

/// Makes batches from text files. The files are tokenized, joined and cut into blocks of seq_len
/// tokens, whose labels are the next tokens. The blocks are dealt in a random order that depends on
/// the seed; each pass over the text has a new order. Throws inputError if a file is missing or the
/// text has fewer than seq_len + 1 tokens, and usageError if seq_len or batch_size is below 1.
std::unique_ptr<BatchSource> textBatches(const std::vector<std::string>& files,
                                         const Tokenizer& tokenizer, const TextOptions& options);

/// Makes batches from a safetensors file with input_ids, labels, [steps, B, S], and position_ids,
/// [steps, B, S] or [B, S]. Without position_ids, each sequence counts from 0. With
/// `keep_documents`, a document begins wherever a position id is 0. Throws inputError if input_ids
/// or labels is missing, a shape does not match, or a value is negative (labels may be -100).
std::unique_ptr<BatchSource> tokenFileBatches(const std::string& path, bool keep_documents = false);

}  // namespace ringscope::engine
