// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/plan.h"

namespace ringscope::engine {

/// A sequence padded to a length that the balance can split. Padding tokens attend nothing and are
/// not attended.
struct Padding {
  std::int64_t length = 0;                 ///< including padding
  Mask mask;                               ///< over the padded sequence
  std::vector<TokenRun> slots;             ///< documents with their padding, without gaps
  std::vector<std::int64_t> padded_index;  ///< per original token, its index in the padded sequence

  bool needed() const { return length != static_cast<std::int64_t>(padded_index.size()); }
  /// Returns `t` with zeros at padding tokens. `dim` is the sequence dimension, at least 0.
  at::Tensor padded(const at::Tensor& t, std::int64_t dim) const;
  /// Returns `t` without padding tokens; the inverse of padded().
  at::Tensor unpadded(const at::Tensor& t, std::int64_t dim) const;
};

/// Pads to the length that the balance needs: each document if the balance is kPerDocument and the
/// documents cover the whole sequence, otherwise the end of the sequence. Without `pad`, returns
/// the sequence unchanged; checkAttend() then rejects an unsuitable length.
Padding paddingFor(std::int64_t length, const Mask& mask, Balance balance, int cp, bool pad);

}  // namespace ringscope::engine
