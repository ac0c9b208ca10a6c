// SPDX-License-Identifier: Apache-2.0
#include "engine/control/tensor_read.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/gpu/gpu.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

using traces::control::LiveTensorEntry;
using traces::control::ReadTensor;
using traces::control::TensorList;
using traces::control::TensorSlice;

LiveTensorEntry describedEntry(const LiveTensors::Entry& entry) {
  return {entry.rank,
          entry.name,
          entry.place.layer,
          traces::describe(entry.place),
          traces::name(dtypeFrom(entry.tensor)),
          entry.tensor.sizes().vec()};
}

/// Returns one bound of the slice per dimension; `otherwise` if none were given.
std::vector<std::int64_t> bounds(const std::vector<std::int64_t>& asked, const char* key,
                                 std::vector<std::int64_t> otherwise) {
  if (asked.empty()) return otherwise;
  if (asked.size() != otherwise.size())
    throw usageError(std::string("\"") + key +
                     "\" needs one number a dimension, and the tensor has " +
                     std::to_string(otherwise.size()));
  return asked;
}

/// Returns the elements of `tensor` inside the slice.
at::Tensor cut(at::Tensor tensor, const TensorSlice& slice) {
  const auto& sizes = slice.of.shape;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (slice.begin[d] < 0 || slice.end[d] > sizes[d] || slice.begin[d] >= slice.end[d])
      throw usageError("dimension " + std::to_string(d) + " goes from 0 to " +
                       std::to_string(sizes[d]));
    tensor = tensor.slice(static_cast<std::int64_t>(d), slice.begin[d], slice.end[d]);
  }
  if (tensor.numel() > kMaxReadElements)
    throw usageError("a read gives at most " + std::to_string(kMaxReadElements) +
                     " elements; ask for a slice");
  return tensor;
}

}  // namespace

TensorList listLiveTensors(const LiveTensors& live) {
  TensorList list;
  for (const auto& entry : live.list()) list.tensors.push_back(describedEntry(entry));
  return list;
}

TensorSlice readLiveTensor(const LiveTensors& live, const ReadTensor& asked) {
  const auto entry = live.find(asked.rank, asked.tensor, asked.layer);
  if (!entry)
    throw usageError("rank " + toString(asked.rank) + " has no live tensor '" + asked.tensor +
                     "' of layer " + toString(asked.layer) + " now");
  TensorSlice slice{describedEntry(*entry), {}, {}, {}};
  slice.of.layer = asked.layer;
  const auto& sizes = slice.of.shape;
  slice.begin = bounds(asked.begin, "begin", std::vector<std::int64_t>(sizes.size(), 0));
  slice.end = bounds(asked.end, "end", sizes);
  if (asked.lead.size() > sizes.size())
    throw usageError("\"lead\" has at most one number a dimension, and the tensor has " +
                     std::to_string(sizes.size()));
  for (std::size_t d = 0; d < asked.lead.size(); ++d) {
    if (asked.lead[d] < 0 || asked.lead[d] >= sizes[d])
      throw usageError("dimension " + std::to_string(d) + " goes from 0 to " +
                       std::to_string(sizes[d]));
    slice.begin[d] = asked.lead[d];
    slice.end[d] = asked.lead[d] + 1;
  }
  const at::Tensor& whole = entry->tensor;
  if (whole.is_cuda()) gpu::synchronizeAll(whole.get_device());
  const at::Tensor values = cut(whole.detach(), slice).cpu().to(at::kDouble).contiguous();
  const auto* numbers = values.const_data_ptr<double>();
  slice.values.assign(numbers, numbers + values.numel());
  return slice;
}

}  // namespace ringscope::engine
