// SPDX-License-Identifier: Apache-2.0
// Ring attention on four rank threads compared with unsharded flash attention on the same cores, in
// one run.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "engine/attend/attend.h"
#include "engine/kernels/block_attention.h"
#include "traces/format/core/clock.h"

namespace {

using namespace ringscope;

constexpr int kBlocks = 11, kWarmUp = 3;

double seconds(const std::function<void()>& work) {
  const auto begin = traces::steadyNow();
  work();
  return static_cast<double>(traces::steadyNow() - begin) * 1e-9;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

double median(const std::vector<double>& values) {
  return quantile(values, 0.5);
}

/// The seconds of forward and backward, as medians of one block.
struct Times {
  double forward, backward;
};

Times unsharded(const engine::AttendInput& in, int rounds) {
  engine::DeviceAttention device(in.mask, {in.scale});
  std::vector<double> forward, backward;
  for (int round = 0; round < kWarmUp + rounds; ++round) {
    engine::AttentionResult result;
    const double f =
        seconds([&] { result = device.forward(in.q, in.k, in.v, engine::Layer::of(0)); });
    const double b =
        seconds([&] { device.backward(in.dout, in.q, in.k, in.v, result, engine::Layer::of(0)); });
    if (round < kWarmUp) continue;
    forward.push_back(f);
    backward.push_back(b);
  }
  return {median(forward), median(backward)};
}

Times ring(const engine::AttendInput& in, int rounds) {
  engine::Gate gate(4);
  engine::AttendConfig config;
  config.balance = traces::Balance::kHeadTail;
  config.capture = "none";
  config.repeat = rounds + kWarmUp;
  auto outcome = engine::attend(in, config, gate);
  for (auto* times : {&outcome.forward_seconds, &outcome.backward_seconds})
    times->erase(times->begin(), times->begin() + kWarmUp);
  return {median(outcome.forward_seconds), median(outcome.backward_seconds)};
}

void report(const char* direction, double Times::*time, const std::vector<Times>& whole,
            const std::vector<Times>& sharded) {
  std::vector<double> base, own, ratio;
  for (std::size_t block = 0; block < whole.size(); ++block) {
    base.push_back(whole[block].*time);
    own.push_back(sharded[block].*time);
    ratio.push_back(own.back() / base.back());
  }
  std::printf("  %s: unsharded %7.1f ms, ring %7.1f ms, %.2f× its time (quartiles %.2f, %.2f)\n",
              direction, median(base) * 1e3, median(own) * 1e3, median(ratio),
              quantile(ratio, 0.25), quantile(ratio, 0.75));
}

/// Compares both in alternating blocks of `rounds` runs; the first runs of a block warm up. Each
/// block is compared with the neighbouring block of the other method, because the speed of a shared
/// machine changes from minute to minute.
void compare(std::int64_t batch, std::int64_t length, int rounds) {
  at::manual_seed(1);
  engine::AttendInput in;
  for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout}) *t = at::randn({batch, 8, length, 64});
  in.scale = 0.125;
  std::vector<Times> whole, sharded;
  for (int block = 0; block < kBlocks; ++block) {
    whole.push_back(unsharded(in, rounds));
    sharded.push_back(ring(in, rounds));
  }
  std::printf(
      "batch %lld, length %lld, 8 heads of 64, causal, head_tail, 4 rank threads on %d cores, "
      "medians over %d blocks of %d\n",
      static_cast<long long>(batch), static_cast<long long>(length), at::get_num_threads(), kBlocks,
      rounds);
  report("forward ", &Times::forward, whole, sharded);
  report("backward", &Times::backward, whole, sharded);
}

}  // namespace

int main() {
  compare(1, 4096, 5);
  compare(2, 1024, 30);
}
