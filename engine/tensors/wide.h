// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ringscope::engine {

/// The values of a tensor in row-major order, in fp64 on the CPU.
class Wide {
 public:
  explicit Wide(const at::Tensor& t)
      : values_(t.detach().to(at::kCPU, at::kDouble).contiguous()),
        data_(values_.const_data_ptr<double>()) {}
  double operator[](std::int64_t i) const { return data_[i]; }
  std::int64_t size() const { return values_.numel(); }

 private:
  at::Tensor values_;
  const double* data_;
};

}  // namespace ringscope::engine
