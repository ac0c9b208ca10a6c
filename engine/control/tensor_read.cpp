// SPDX-License-Identifier: Apache-2.0
#include "engine/control/tensor_read.h"

#include <ATen/ATen.h>

#include <cmath>

#include "engine/tensors/tensor_io.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

using nlohmann::json;

json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/// One bound of the slice for every dimension.
std::vector<std::int64_t> bounds(const json& request, const char* key,
                                 std::vector<std::int64_t> otherwise) {
  if (!request.contains(key)) return otherwise;
  auto asked = request[key].get<std::vector<std::int64_t>>();
  if (asked.size() != otherwise.size())
    throw usageError(std::string("\"") + key +
                     "\" needs one number a dimension, and the tensor has " +
                     std::to_string(otherwise.size()));
  return asked;
}

}  // namespace

json listLiveTensors(const LiveTensors& live) {
  json list = json::array();
  for (const auto& entry : live.list())
    list.push_back({{"rank", entry.rank},
                    {"tensor", entry.name},
                    {"layer", entry.place.layer},
                    {"place", traces::describe(entry.place)},
                    {"dtype", traces::name(dtypeOf(entry.tensor))},
                    {"shape", entry.tensor.sizes().vec()}});
  return list;
}

json readLiveTensor(const LiveTensors& live, const json& request) {
  const auto name = request.value("tensor", std::string());
  const int rank = request.value("rank", 0), layer = request.value("layer", -1);
  const auto entry = live.find(rank, name, layer);
  if (!entry)
    throw usageError("rank " + std::to_string(rank) + " has no live tensor '" + name +
                     "' of layer " + std::to_string(layer) + " now");
  const auto sizes = entry->tensor.sizes().vec();
  auto begin = bounds(request, "begin", std::vector<std::int64_t>(sizes.size(), 0));
  auto end = bounds(request, "end", sizes);
  const auto lead = request.value("lead", std::vector<std::int64_t>());
  for (std::size_t d = 0; d < std::min(lead.size(), sizes.size()); ++d) {
    begin[d] = lead[d];
    end[d] = lead[d] + 1;
  }
  at::Tensor slice = entry->tensor.detach();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (begin[d] < 0 || end[d] > sizes[d] || begin[d] >= end[d])
      throw usageError("dimension " + std::to_string(d) + " goes from 0 to " +
                       std::to_string(sizes[d]));
    slice = slice.slice(static_cast<std::int64_t>(d), begin[d], end[d]);
  }
  if (slice.numel() > kMaxReadElements)
    throw usageError("a read gives at most " + std::to_string(kMaxReadElements) +
                     " elements; ask for a slice");
  const at::Tensor values = slice.to(at::kDouble).contiguous();
  json numbers = json::array();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    numbers.push_back(number(values.const_data_ptr<double>()[i]));
  return {{"rank", rank},
          {"tensor", name},
          {"layer", layer},
          {"place", traces::describe(entry->place)},
          {"dtype", traces::name(dtypeOf(entry->tensor))},
          {"shape", sizes},
          {"begin", begin},
          {"end", end},
          {"values", numbers}};
}

}  // namespace ringscope::engine
