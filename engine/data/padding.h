// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/plan.h"

namespace ringscope::engine {

/// A sequence that is padded so that a balance can deal it. Padding attends nothing and is not
/// attended.
struct Padding {
  std::int64_t length = 0;              ///< including padding
  Mask mask;                            ///< over the padded sequence
  std::vector<TokenRun> slots;          ///< documents with their padding, without gaps
  std::vector<std::int64_t> positions;  ///< of each original token in the padded sequence

  bool needed() const { return length != static_cast<std::int64_t>(positions.size()); }
  /// Returns `t` with zeros at padding tokens. `dim` is the sequence dimension.
  at::Tensor padded(const at::Tensor& t, std::int64_t dim) const;
  at::Tensor unpadded(const at::Tensor& t, std::int64_t dim) const;
};

/// Pads every document (kPerDocument) or the end of the sequence to the length that the balance
/// needs. Without `pad`, the length stays.
Padding paddingFor(std::int64_t length, const Mask& mask, Balance balance, int cp, bool pad);

}  // namespace ringscope::engine
