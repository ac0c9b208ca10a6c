// SPDX-License-Identifier: Apache-2.0
// The GPU functions in a build without CUDA.
#include "engine/gpu/device_queue.h"
#include "engine/gpu/gpu.h"
#include "traces/format/core/error.h"

namespace ringscope::engine::gpu {
namespace {

[[noreturn]] void refuse() {
  throw usageError(unavailable());
}

}  // namespace

std::string unavailable() {
  return "this build has no CUDA; where nvcc 13 is, scripts/run --cuda makes one that has";
}
int count() {
  return 0;
}
std::unique_ptr<DeviceQueue> timedStream() {
  refuse();
}
void useOwnStream(int) {
  refuse();
}
void synchronize() {
  refuse();
}
void synchronizeAll(int) {
  refuse();
}
void copyBytes(void*, const void*, std::size_t) {
  refuse();
}
void mergeRows(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  refuse();
}
void quantiseRows(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  refuse();
}

}  // namespace ringscope::engine::gpu
