// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/rotation.h"

#include <ATen/ATen.h>

#include "engine/observe/memory_tracker.h"

namespace ringscope::engine {

Rotation::Rotation(Communicator& cp, int next_rank, int previous_rank, at::Tensor first)
    : cp_(cp), next_rank_(next_rank), previous_rank_(previous_rank), held_(std::move(first)) {}

Exchange Rotation::start() {
  at::Tensor& buffer = buffers_[static_cast<std::size_t>(turn_)];
  if (!buffer.defined()) {
    const MemoryScope scope(MemoryCategory::kInFlight);
    buffer = at::empty_like(held_);
  }
  arriving_ = buffer;
  turn_ ^= 1;
  return cp_.exchange({{held_, next_rank_}}, {{arriving_, previous_rank_}});
}

void Rotation::advance() {
  held_ = arriving_;
}

}  // namespace ringscope::engine
