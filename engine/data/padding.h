// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/plan.h"

namespace ringscope::engine {

/// A sequence made longer so that a balance can deal it; padding attends nothing and is attended by
/// nothing.
struct Padding {
  std::int64_t length = 0;              ///< with the padding
  Mask mask;                            ///< over the longer sequence
  std::vector<TokenRun> slots;          ///< documents with their padding, without gaps
  std::vector<std::int64_t> positions;  ///< of each original token in the longer sequence

  bool needed() const { return length != static_cast<std::int64_t>(positions.size()); }
  /// Zeros where padding is. `dim` is the sequence.
  at::Tensor padded(const at::Tensor& t, std::int64_t dim) const;
  at::Tensor unpadded(const at::Tensor& t, std::int64_t dim) const;
};

/// Pads every document (kPerDocument) or the end of the sequence to what the balance needs; with
/// `pad` false it stays as long as it is.
Padding paddingFor(std::int64_t length, const Mask& mask, Balance balance, int cp, bool pad);

}  // namespace ringscope::engine
