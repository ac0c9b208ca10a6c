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
  /// Of each sequence, the documents packed into it, as cumulative lengths [0, …, S]. Empty: every
  /// sequence is one document.
  std::vector<std::vector<std::int64_t>> cu_seqlens;

  /// `mask` with the documents of one sequence.
  Mask maskOf(const Mask& mask, std::int64_t sequence) const;
  /// The same on a device.
  Batch on(at::Device device) const;
  /// Sequences [begin, end).
  Batch sequences(std::int64_t begin, std::int64_t end) const;
};

/// Where batches come from. The same on every rank of a cp group. Thread-safe after construction.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Batch batch(std::int64_t train_step) const = 0;
  virtual std::int64_t sequenceLength() const = 0;
  virtual std::int64_t batchSize() const = 0;
  virtual std::int64_t largestToken() const = 0;
  /// Of all tokens, labels and borders: another where the data are others.
  virtual std::uint64_t fingerprint() const = 0;
};

/// How text becomes blocks.
struct TextOptions {
  std::int64_t seq_len = 256, batch_size = 1;
  std::uint64_t seed = 0;
  /// Attention ends at the borders of documents: position ids count anew in each, and the last
  /// token of a document has no label.
  bool keep_documents = false;
  /// What parts a file into documents, and is left out; empty: each file is one.
  std::string separator;
};

/// Text files as tokens, joined, cut into blocks of seq_len tokens with the token after each as its
/// label; blocks are dealt in a seeded random order, again from the start when used up.
/// Throws inputError when a file is missing or there is less than one block of text.
std::unique_ptr<BatchSource> textBatches(const std::vector<std::string>& files,
                                         const Tokenizer& tokenizer, const TextOptions& options);

/// A safetensors file with input_ids, labels [steps, B, S] and position_ids [steps, B, S] or [B,
/// S]. With `keep_documents`, a document begins wherever position ids begin with 0 again. Throws
/// inputError when they are missing or do not fit each other.
std::unique_ptr<BatchSource> tokenFileBatches(const std::string& path, bool keep_documents = false);

}  // namespace ringscope::engine
