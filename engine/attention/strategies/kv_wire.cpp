// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/kv_wire.h"

#include <ATen/ATen.h>

#include "engine/kernels/fp8.h"
#include "engine/observe/memory_tracker.h"

namespace ringscope::engine {
namespace {

at::Tensor bytesFrom(const at::Tensor& t) {
  return t.contiguous().view(at::kByte).reshape({-1});
}

class PlainWire : public KvWire {
 public:
  at::Tensor packed(const at::Tensor& k, const at::Tensor& v) const override {
    const MemoryScope scope(MemoryCategory::kKv);
    return at::stack({k, v});
  }
  at::Tensor unpacked(const at::Tensor& message) override { return message; }
};

class Fp8Wire : public KvWire {
 public:
  explicit Fp8Wire(const at::Tensor& k)
      : shape_{2, k.size(0), k.size(1), k.size(2), k.size(3)}, type_(k.scalar_type()) {}

  at::Tensor packed(const at::Tensor& k, const at::Tensor& v) const override {
    const MemoryScope scope(MemoryCategory::kKv);
    const Quantised q = quantiseRows(at::stack({k, v}));
    return at::cat({bytesFrom(q.scales), bytesFrom(q.values)});  // scales first, because they need
                                                                 // alignment
  }
  at::Tensor unpacked(const at::Tensor& message) override {
    const MemoryScope scope(MemoryCategory::kKv);
    auto scale_shape = shape_;
    scale_shape.back() = 1;
    const std::int64_t rows = shape_[0] * shape_[1] * shape_[2] * shape_[3];
    const auto scale_bytes = rows * static_cast<std::int64_t>(sizeof(float));
    const at::Tensor scales = message.slice(0, 0, scale_bytes).view(at::kFloat).view(scale_shape);
    const at::Tensor values = message.slice(0, scale_bytes).view(at::kFloat8_e4m3fn).view(shape_);
    if (!buffer_.defined()) buffer_ = at::empty(shape_, message.options().dtype(type_));
    buffer_.copy_(values.to(at::kFloat) * scales);
    return buffer_;
  }

 private:
  std::vector<std::int64_t> shape_;
  at::ScalarType type_;
  at::Tensor buffer_;
};

}  // namespace

std::unique_ptr<KvWire> plainKvWire() {
  return std::make_unique<PlainWire>();
}
std::unique_ptr<KvWire> fp8KvWire(const at::Tensor& k) {
  return std::make_unique<Fp8Wire>(k);
}

}  // namespace ringscope::engine
