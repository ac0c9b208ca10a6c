// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace ringscope::engine {

/// The format of K and V on the wire: one contiguous message.
class KvWire {
 public:
  virtual ~KvWire() = default;
  /// Packs k and v, [B, H, S, D], into one contiguous tensor. Called once, by the source rank.
  virtual at::Tensor packed(const at::Tensor& k, const at::Tensor& v) const = 0;
  /// Unpacks a message to [2, B, H, S, D] in the type of attention. The result may be a view of the
  /// message, or lie in a buffer that the next call reuses.
  virtual at::Tensor unpacked(const at::Tensor& message) = 0;
};

/// Makes the wire that sends K and V in their own type.
std::unique_ptr<KvWire> plainKvWire();
/// Makes the wire that sends K and V as e4m3 with one fp32 scale per row of D elements, slightly
/// more than half the bytes of bf16. K and V are quantised once, so every receiver gets the same
/// numbers. `k` gives shape and type.
std::unique_ptr<KvWire> fp8KvWire(const at::Tensor& k);

}  // namespace ringscope::engine
