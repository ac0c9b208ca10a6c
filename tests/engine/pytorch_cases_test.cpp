// SPDX-License-Identifier: Apache-2.0
// The shapes and assertions of PyTorch's own ring attention test (test/distributed/tensor/
// test_attention.py, RingAttentionTest): q, k, v of (8, 8, 1024 · world, 32), causal or not, with
// and without balance, both rotations, forward alone or with backward; against scaled dot product
// attention on one device. Upstream needs GPUs; the gradient of out is random here, not ones.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "engine/attention/block_attention.h"

namespace ringscope::engine {
namespace {

constexpr int kWorld = 2;

struct PyTorchCase {
  bool causal, balanced, forward_only;
  std::string rotate;
};

class PyTorchCases : public testing::TestWithParam<PyTorchCase> {
 protected:
  /// The same for all cases: making and attending it takes longer than comparing.
  static const AttendInput& input() {
    static const AttendInput kInput = [] {
      at::manual_seed(10);
      AttendInput in;
      for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout})
        *t = at::randn({8, 8, 1024 * kWorld, 32});
      in.scale = 1 / std::sqrt(32.0);
      return in;
    }();
    return kInput;
  }
  static const std::map<std::string, at::Tensor>& oneDevice(bool causal) {
    static std::map<bool, std::map<std::string, at::Tensor>> kept;
    auto& tensors = kept[causal];
    if (!tensors.empty()) return tensors;
    const AttendInput& in = input();
    DeviceAttention device(causal ? Mask::causalMask() : Mask::full(), in.scale);
    const auto r = device.forward(in.q, in.k, in.v, 0);
    const auto g = device.backward(in.dout, in.q, in.k, in.v, r, 0);
    return tensors = {{"out", r.out}, {"dq", g.dq}, {"dk", g.dk}, {"dv", g.dv}};
  }
};

TEST_P(PyTorchCases, RingAttentionEqualsScaledDotProductAttention) {
  const PyTorchCase& c = GetParam();
  AttendInput in = input();
  in.mask = c.causal ? Mask::causalMask() : Mask::full();
  AttendConfig config;
  config.cp = kWorld;
  config.balance = c.balanced ? "head_tail" : "none";
  config.capture = "none";
  config.attention.rotate = c.rotate;
  config.forward_only = c.forward_only;
  Gate gate(kWorld);
  const auto outcome = attend(in, config, gate);
  for (const auto& [name, expected] : oneDevice(c.causal)) {
    if (c.forward_only && name != "out") continue;
    EXPECT_TRUE(at::allclose(outcome.tensors.at(name), expected, 1e-5 * kWorld, 2e-6 * kWorld * 2))
        << name << " " << (outcome.tensors.at(name) - expected).abs().max().item<double>();
  }
  // The communication that upstream counts: one KV hop a step; as many dKV hops as ranks.
  for (const HopTotals& hops : outcome.hops) {
    EXPECT_EQ(hops.kv_forward, kWorld - 1);
    EXPECT_EQ(hops.dkv_backward, c.forward_only ? 0 : kWorld);
  }
}

std::vector<PyTorchCase> pytorchCases() {
  std::vector<PyTorchCase> cases;
  for (const bool causal : {true, false})
    for (const bool balanced : {true, false})
      for (const char* rotate : {"alltoall", "allgather"})
        for (const bool forward_only : {true, false})
          if (causal || !balanced) cases.push_back({causal, balanced, forward_only, rotate});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, PyTorchCases, testing::ValuesIn(pytorchCases()), [](const auto& c) {
  return std::string(c.param.causal ? "causal" : "full") + (c.param.balanced ? "_balanced_" : "_") +
         c.param.rotate + (c.param.forward_only ? "_forward" : "");
});

}  // namespace
}  // namespace ringscope::engine
