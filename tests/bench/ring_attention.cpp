// SPDX-License-Identifier: Apache-2.0
// Ring attention on four rank threads against unsharded flash attention on the same cores, in one
// run.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "engine/attend/attend.h"
#include "engine/attention/block_attention.h"
#include "traces/core/clock.h"

namespace {

using namespace ringscope;

constexpr int kBlocks = 7, kWarmUp = 3;

double seconds(const std::function<void()>& work) {
  const auto begin = traces::steadyNow();
  work();
  return static_cast<double>(traces::steadyNow() - begin) * 1e-9;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// Unsharded and ring take turns in blocks of `rounds` runs; the first runs of a block warm up.
void compare(std::int64_t batch, std::int64_t length, int rounds) {
  at::manual_seed(1);
  engine::AttendInput in;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout}) *t = at::randn({batch, 8, length, 64});
  in.scale = 0.125;
  engine::DeviceAttention device(in.mask, in.scale);
  std::vector<double> whole_forward, whole_backward, ring_forward, ring_backward;
  for (int block = 0; block < kBlocks; ++block) {
    for (int round = 0; round < kWarmUp + rounds; ++round) {
      engine::AttentionResult result;
      const double f = seconds([&] { result = device.forward(in.q, in.k, in.v, 0); });
      const double b = seconds([&] { device.backward(in.dout, in.q, in.k, in.v, result, 0); });
      if (round < kWarmUp) continue;
      whole_forward.push_back(f);
      whole_backward.push_back(b);
    }
    engine::Gate gate(4);
    const auto ring = engine::attend(in, {4, "head_tail", "none", rounds + kWarmUp}, gate);
    ring_forward.insert(ring_forward.end(), ring.forward_seconds.begin() + kWarmUp,
                        ring.forward_seconds.end());
    ring_backward.insert(ring_backward.end(), ring.backward_seconds.begin() + kWarmUp,
                         ring.backward_seconds.end());
  }
  const double wf = median(whole_forward), wb = median(whole_backward);
  const double rf = median(ring_forward), rb = median(ring_backward);
  std::printf(
      "batch %lld, length %lld, 8 heads of 64, causal, head_tail, 4 rank threads on %d cores, "
      "median of %d\n",
      static_cast<long long>(batch), static_cast<long long>(length), at::get_num_threads(),
      kBlocks * rounds);
  std::printf("  forward : unsharded %7.1f ms, ring %7.1f ms, %.2f× its time\n", wf * 1e3, rf * 1e3,
              rf / wf);
  std::printf("  backward: unsharded %7.1f ms, ring %7.1f ms, %.2f× its time\n", wb * 1e3, rb * 1e3,
              rb / wb);
}

}  // namespace

int main() {
  if (!getenv("ONLY")) compare(1, 4096, 4);
  compare(2, 1024, 30);
}
