// SPDX-License-Identifier: Apache-2.0
#include "engine/data/batch.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

Mask Batch::maskFor(const Mask& mask, std::int64_t sequence) const {
  if (cu_seqlens.empty()) return mask;
  Mask packed = Mask::packed(cu_seqlens.at(static_cast<std::size_t>(sequence)), input_ids.size(1));
  packed.window = mask.window;
  return packed;
}

Batch Batch::on(at::Device device) const {
  return {input_ids.to(device), labels.to(device), position_ids.to(device), cu_seqlens};
}

Batch Batch::sequences(std::int64_t begin, std::int64_t end) const {
  Batch part{input_ids.slice(0, begin, end),
             labels.slice(0, begin, end),
             position_ids.slice(0, begin, end),
             {}};
  if (!cu_seqlens.empty()) part.cu_seqlens = {cu_seqlens.begin() + begin, cu_seqlens.begin() + end};
  return part;
}

}  // namespace ringscope::engine
