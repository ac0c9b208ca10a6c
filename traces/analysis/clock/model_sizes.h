// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ringscope::traces {

/// The sizes of a Llama-like decoder: what its work and messages follow from.
struct ModelSizes {
  std::string name;
  std::int64_t layers = 0, hidden_size = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t intermediate_size = 0, vocab_size = 0;
  bool tied_embeddings = false;

  /// Parameters of the whole model; norms and biases are left out.
  std::int64_t parameters() const;
};

/// From config.json of a Hugging Face folder, or from the file itself. Throws inputError when it is
/// missing, lacks a size, or describes a mixture of experts.
ModelSizes readModelSizes(const std::string& path);

}  // namespace ringscope::traces
