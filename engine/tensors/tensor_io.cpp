// SPDX-License-Identifier: Apache-2.0
#include "engine/tensors/tensor_io.h"

#include <ATen/ATen.h>

#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

struct TypeRow {
  at::ScalarType torch;
  traces::DType trace;
  const char* file;
};

constexpr TypeRow kTypes[] = {
    {at::kFloat, traces::DType::kFloat32, "F32"},
    {at::kDouble, traces::DType::kFloat64, "F64"},
    {at::kBFloat16, traces::DType::kBFloat16, "BF16"},
    {at::kHalf, traces::DType::kFloat16, "F16"},
    {at::kInt, traces::DType::kInt32, "I32"},
    {at::kLong, traces::DType::kInt64, "I64"},
};

const TypeRow& rowFor(const at::Tensor& tensor) {
  for (const TypeRow& row : kTypes)
    if (row.torch == tensor.scalar_type()) return row;
  throw usageError(std::string("tensors of type ") + c10::toString(tensor.scalar_type()) +
                   " are not recorded");
}

}  // namespace

traces::DType dtypeFrom(const at::Tensor& tensor) {
  return rowFor(tensor).trace;
}

traces::Bytes bytesFrom(const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.detach().cpu().contiguous();
  const auto* data = static_cast<const std::uint8_t*>(contiguous.const_data_ptr());
  return traces::Bytes(data, data + contiguous.nbytes());
}

at::Tensor toTensor(const traces::SafeTensorView& view, const std::string& name) {
  for (const TypeRow& row : kTypes) {
    if (view.dtype != row.file) continue;
    at::Tensor tensor = at::empty(view.shape, row.torch);
    if (view.size_bytes > 0) std::memcpy(tensor.data_ptr(), view.data, view.size_bytes);
    return tensor;
  }
  throw inputError("'" + name + "' is of type " + view.dtype +
                   "; F32, F64, BF16, F16, I32 and I64 can be read");
}

void saveTensors(const std::string& path, const std::map<std::string, at::Tensor>& tensors,
                 const std::map<std::string, std::string>& metadata) {
  std::map<std::string, traces::SafeTensorView> views;
  std::vector<at::Tensor> keep_alive;
  for (const auto& [name, tensor] : tensors) {
    keep_alive.push_back(tensor.detach().cpu().contiguous());
    const at::Tensor& t = keep_alive.back();
    views[name] = {rowFor(t).file, t.sizes().vec(),
                   static_cast<const std::uint8_t*>(t.const_data_ptr()),
                   static_cast<std::size_t>(t.nbytes())};
  }
  traces::writeSafeTensors(path, views, metadata);
}

}  // namespace ringscope::engine
