// SPDX-License-Identifier: Apache-2.0
#include "engine/gpu/gpu.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>
#include <deque>

#include "engine/gpu/device_queue.h"
#include "engine/gpu/kernels.h"
#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"

namespace ringscope::engine::gpu {
namespace {

void require(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw runFailed(std::string(what) + " failed on the GPU: " + cudaGetErrorString(status));
}

cudaStream_t stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

Element elementOf(const at::Tensor& t) {
  switch (t.scalar_type()) {
    case at::kFloat:
      return Element::kFloat;
    case at::kDouble:
      return Element::kDouble;
    case at::kBFloat16:
      return Element::kBFloat16;
    case at::kHalf:
      return Element::kHalf;
    default:
      throw usageError(std::string("no kernel for type ") + c10::toString(t.scalar_type()));
  }
}

RowPlace placeFor(const at::Tensor& t) {
  return {t.stride(0), t.stride(1), t.stride(2)};
}

/// A queue whose marks are events of the stream. An anchor event, after which the stream was empty,
/// maps the GPU's clock to the host's. The anchor is renewed from time to time, because the two
/// clocks drift, and because a float resolves fewer nanoseconds the longer ago the anchor was.
class TimedStream : public DeviceQueue {
 public:
  TimedStream() { setAnchor(); }
  ~TimedStream() override {
    for (cudaEvent_t event : marks_) cudaEventDestroy(event);
    for (cudaEvent_t event : spare_) cudaEventDestroy(event);
    cudaEventDestroy(anchor_);
  }
  TimedStream(const TimedStream&) = delete;
  TimedStream& operator=(const TimedStream&) = delete;

  void mark() override {
    constexpr std::int64_t kAnchorHolds = 1'000'000'000;
    if (marks_.empty() && traces::steadyNow() - anchor_ns_ > kAnchorHolds) setAnchor();
    if (spare_.empty()) {
      spare_.push_back(nullptr);
      require(cudaEventCreate(&spare_.back()), "a time mark");
    }
    require(cudaEventRecord(spare_.back(), stream()), "a time mark");
    marks_.push_back(spare_.back());
    spare_.pop_back();
  }

  std::optional<std::int64_t> nextReached(bool wait) override {
    if (marks_.empty()) return {};
    const cudaEvent_t event = marks_.front();
    const cudaError_t status = wait ? cudaEventSynchronize(event) : cudaEventQuery(event);
    if (status == cudaErrorNotReady) return {};
    require(status, "work");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, anchor_, event), "a time mark");
    marks_.pop_front();
    spare_.push_back(event);
    return anchor_ns_ + static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

 private:
  void setAnchor() {
    if (!anchor_) require(cudaEventCreate(&anchor_), "a time mark");
    require(cudaStreamSynchronize(stream()), "work");
    require(cudaEventRecord(anchor_, stream()), "a time mark");
    require(cudaEventSynchronize(anchor_), "work");
    anchor_ns_ = traces::steadyNow();
  }

  cudaEvent_t anchor_ = nullptr;
  std::int64_t anchor_ns_ = 0;
  std::deque<cudaEvent_t> marks_;
  std::vector<cudaEvent_t> spare_;
};

}  // namespace

std::unique_ptr<DeviceQueue> timedStream() {
  return std::make_unique<TimedStream>();
}

std::string unavailable() {
  return count() > 0 ? "" : "no NVIDIA GPU was found; use --device cpu";
}

int count() {
  return c10::cuda::device_count();
}

void useOwnStream(int index) {
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
  c10::cuda::setCurrentCUDAStream(
      c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(index)));
}

void synchronize() {
  require(cudaStreamSynchronize(stream()), "work");
}

void synchronizeAll(int index) {
  const c10::DeviceIndex own = c10::cuda::current_device();
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
  const cudaError_t status = cudaDeviceSynchronize();
  c10::cuda::set_device(own);
  require(status, "work");
}

void copyBytes(void* to, const void* from, std::size_t bytes) {
  require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "a copy");
  synchronize();
}

void mergeRows(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& block_out,
               const at::Tensor& block_lse) {
  MergeArguments a{out.data_ptr(),    lse.data_ptr(),    block_out.data_ptr(), block_lse.data_ptr(),
                   placeFor(out),     placeFor(lse),     placeFor(block_out),  placeFor(block_lse),
                   block_out.size(0), block_out.size(1), block_out.size(2),    block_out.size(3)};
  require(launchMerge(a, elementOf(block_out), stream()), "a merge");
}

void quantiseRows(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  const at::Tensor rows = x.detach().contiguous();
  const std::int64_t width = x.size(-1);
  require(launchQuantise(rows.data_ptr(), elementOf(rows), width ? rows.numel() / width : 0, width,
                         static_cast<std::uint8_t*>(values.data_ptr()), scales.data_ptr<float>(),
                         stream()),
          "quantising");
}

}  // namespace ringscope::engine::gpu
