// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace ringscope::engine {

/// What K and V look like on the wire: one contiguous message, and back.
class KvWire {
 public:
  virtual ~KvWire() = default;
  /// k, v: [B, H, S, D] to one contiguous tensor, made once at the source.
  virtual at::Tensor packed(const at::Tensor& k, const at::Tensor& v) const = 0;
  /// The message as [2, B, H, S, D] in the type of attention. May be a view of it, or lie in a
  /// buffer that the next call uses again.
  virtual at::Tensor unpacked(const at::Tensor& message) = 0;
};

/// K and V in their own type.
std::unique_ptr<KvWire> plainKvWire();
/// K and V as e4m3 with one fp32 scale for each row of D elements: half the bytes of bf16 and a
/// little more. Quantised once; whoever gets the message gets the same numbers. `k` says shape and
/// type.
std::unique_ptr<KvWire> fp8KvWire(const at::Tensor& k);

}  // namespace ringscope::engine
