// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ringscope::engine {

/// The whole batch of one training step, before sharding. input_ids, labels, position_ids: [B, S]
/// int64. Labels are shifted already: labels[s] is the token after input_ids[s]; -100 is ignored.
struct Batch {
  at::Tensor input_ids, labels, position_ids;
};

/// Where batches come from. The same on every rank of a cp group. Thread-safe after construction.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Batch batch(std::int64_t train_step) const = 0;
  virtual std::int64_t sequenceLength() const = 0;
  virtual std::int64_t batchSize() const = 0;
  virtual std::int64_t largestToken() const = 0;
};

/// Text files as bytes, joined, cut into blocks of `seq_len` tokens with the byte after each as its
/// label; blocks are dealt in a seeded random order, again from the start when used up.
/// Throws inputError when a file is missing or there is less than one block of text.
std::unique_ptr<BatchSource> textBatches(const std::vector<std::string>& files,
                                         std::int64_t seq_len, std::int64_t batch_size,
                                         std::uint64_t seed);

/// A safetensors file with input_ids, labels [steps, B, S] and position_ids [steps, B, S] or [B,
/// S]. Throws inputError when they are missing or do not fit each other.
std::unique_ptr<BatchSource> tokenFileBatches(const std::string& path);

}  // namespace ringscope::engine
