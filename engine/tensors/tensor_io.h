// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "traces/format/safetensors/safetensors.h"
#include "traces/format/schema/records.h"

namespace ringscope::engine {

/// Returns the trace's name for a tensor's element type. Throws usageError for unsupported types.
traces::DType dtypeFrom(const at::Tensor& tensor);

/// Returns a contiguous copy of the elements.
traces::Bytes bytesFrom(const at::Tensor& tensor);

/// Returns a copy of a tensor of a safetensors file. Throws inputError for unsupported element
/// types.
at::Tensor toTensor(const traces::SafeTensorView& view, const std::string& name);

/// Writes named tensors. Throws inputError.
void saveTensors(const std::string& path, const std::map<std::string, at::Tensor>& tensors,
                 const std::map<std::string, std::string>& metadata = {});

}  // namespace ringscope::engine
