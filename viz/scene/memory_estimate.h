// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace ringscope::viz {

/// The shape of a Llama model, as its config.json says it; without one, the sample model's.
struct ModelShape {
  std::string name = "sample";
  std::int64_t vocabulary = 256, hidden = 128, intermediate = 256, layers = 2;
  std::int64_t heads = 4, kv_heads = 2, head_dim = 32;
  bool tied = false;

  std::int64_t parameters() const;
  /// Reads config.json of a Hugging Face folder. Throws inputError that says what is missing.
  static ModelShape load(const std::string& folder);
};

/// The bytes that one rank will hold at its peak. Weights, gradients and two optimizer moments are
/// the same on every rank of a cp group. The memory that layers keep for backward shrinks as L / P.
struct MemoryEstimate {
  std::int64_t replicated_bytes = 0, sharded_bytes = 0;
  std::int64_t total() const { return replicated_bytes + sharded_bytes; }
};

/// `tokens`: sequence length × sequences of a dp rank. `dtype`: float32, float64, or bfloat16 with
/// float32 masters, gradients and moments.
MemoryEstimate estimateMemory(const ModelShape& model, std::int64_t tokens, int tp, int cp,
                              const std::string& dtype);

}  // namespace ringscope::viz
