// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ringscope::traces {

/// The sizes of a Llama-like decoder. Its work and messages follow from them.
struct ModelSizes {
  std::string name;
  std::int64_t layers = 0, hidden_size = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t intermediate_size = 0, vocab_size = 0;
  bool tied_embeddings = false;

  /// Returns the number of parameters, including norms. The model has no biases.
  std::int64_t parameters() const;
  /// Returns the part of the model that one of `tp` tensor-parallel ranks holds.
  ModelSizes shard(std::int32_t tp) const;
};

/// Reads config.json of a Hugging Face folder, or the file itself. Throws inputError when the file
/// is missing, lacks a size, or describes a mixture of experts.
ModelSizes readModelSizes(const std::string& path);

}  // namespace ringscope::traces
