// SPDX-License-Identifier: Apache-2.0
// The GPU kernels compared with their CPU counterparts, and virtual ranks on one GPU compared with
// fp64. Every test is skipped, with the reason, when there is no GPU.
#include "engine/gpu/gpu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "engine/control/tensor_read.h"
#include "engine/kernels/fp8.h"
#include "engine/kernels/merge.h"
#include "engine/tensors/tensor_io.h"
#include "engine/train/training_run.h"
#include "engine/transport/transport.h"
#include "engine/verify/difference.h"
#include "tests/engine/attend_config.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/largest_difference.h"
#include "tests/support/trace_sink.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {
namespace {

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = gpu::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
    at::manual_seed(11);
  }
};

AttentionResult onGpu(const AttentionResult& r) {
  return {r.out.to(at::kCUDA), r.lse.to(at::kCUDA)};
}

TEST_F(GpuTest, TheMergeEqualsItsTwin) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    const auto sums = type == at::kDouble ? at::kDouble : at::kFloat;
    RunningResult host{at::randn({2, 3, 40, 72}, sums), at::randn({2, 3, 40}, sums) * 20};
    AttentionResult block{at::randn({2, 3, 17, 72}).to(type), at::randn({2, 3, 17}, sums) * 20};
    host.lse.select(2, 5).fill_(-inf);  // a row that has seen no key
    host.out.select(2, 5).zero_();
    block.lse.select(2, 6).fill_(-inf);  // a block without a key
    RunningResult device = onGpu(host);
    mergeBlock(device, onGpu(block), 3);
    mergeBlock(host, block, 3);
    EXPECT_TRUE(at::allclose(device.out.cpu(), host.out, 1e-5, 1e-6)) << type;
    EXPECT_TRUE(at::allclose(device.lse.cpu(), host.lse, 1e-5, 1e-6)) << type;
  }
}

TEST_F(GpuTest, QuantisingEqualsItsTwinBitForBit) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    at::Tensor x = at::randn({2, 3, 50, 72}).to(type);
    x[0][0][0].zero_();
    const Quantised host = quantiseRows(x), device = quantiseRows(x.to(at::kCUDA));
    EXPECT_TRUE(at::equal(device.scales.cpu(), host.scales)) << type;
    EXPECT_TRUE(at::equal(device.values.cpu().view(at::kByte), host.values.view(at::kByte)))
        << type;
  }
}

TEST_F(GpuTest, TheDifferenceEqualsThatOnTheCpu) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    const at::Tensor a = at::randn({300, 1001}).to(type), r = at::randn({300, 1001}, at::kDouble);
    const auto host = rowDifferences(a, r),
               device = rowDifferences(a.to(at::kCUDA), r.to(at::kCUDA));
    EXPECT_EQ(device.largest, host.largest);
    EXPECT_TRUE(at::allclose(device.errors.cpu(), host.errors, 1e-12, 0)) << type;
    EXPECT_TRUE(at::allclose(device.norms.cpu(), host.norms, 1e-12, 0)) << type;
  }
}

TEST_F(GpuTest, VirtualRanksOnOneGpuEqualFp64) {
  for (const auto type : {at::kBFloat16, at::kFloat})
    for (const int cp : {4, 8})
      for (const char* strategy : {"ring", "all_gather", "ulysses", "hybrid"}) {
        AttendInput in;
        for (at::Tensor* t : {&in.q, &in.k, &in.v, &in.dout})
          *t = at::randn({1, 8, 1024, 64}).to(type);
        in.scale = 0.125;
        AttendConfig config = test::attendConfig(cp);
        config.strategy = traces::parse<traces::Strategy>(strategy);
        config.device = traces::Device::kCuda;
        Gate gate(cp);
        for (const auto& diff : verifyAttend(in, attend(in, config, gate)))
          EXPECT_LE(diff.ratio, 1) << diff.tensor << " " << strategy << cp;
      }
}

TEST_F(GpuTest, EachKernelThatTakesATypeEqualsFp64) {
  using traces::DType;
  using traces::Kernel;
  const std::pair<Kernel, DType> takes[] = {
      {Kernel::kFlash, DType::kBFloat16},    {Kernel::kFlash, DType::kFloat16},
      {Kernel::kEfficient, DType::kFloat32}, {Kernel::kEfficient, DType::kBFloat16},
      {Kernel::kEfficient, DType::kFloat16}, {Kernel::kMath, DType::kFloat32},
      {Kernel::kMath, DType::kBFloat16}};
  for (const auto& [kernel, type] : takes)
    for (const char* shape : {"1,8,1024,64", "2,8,200,32,2"})
      for (const int cp : {1, 4}) {
        const AttendInput in = AttendInput::random(RandomShape::parse(shape), type, 3);
        AttendConfig config = test::attendConfig(cp);
        config.device = traces::Device::kCuda;
        config.kernel = kernel;
        Gate gate(cp);
        for (const auto& diff : verifyAttend(in, attend(in, config, gate)))
          EXPECT_LE(diff.ratio, 1) << diff.tensor << " " << traces::name(kernel) << " "
                                   << traces::name(type) << " " << shape << " cp " << cp;
      }
}

TrainOutcome trainedOn(traces::Device device) {
  TrainConfig config;
  config.text = {test::sampleText()};
  config.tp = 2;
  config.cp = 4;
  config.steps = 3;
  config.device = device;
  Gate gate(config.mesh().worldSize());
  return runTraining(config, gate, nullptr);
}

TEST_F(GpuTest, TrainingOnVirtualRanksOfOneGpuFollowsTheCpu) {
  const auto host = trainedOn(traces::Device::kCpu), device = trainedOn(traces::Device::kCuda);
  for (std::size_t step = 0; step < host.steps.size(); ++step) {
    EXPECT_NEAR(device.steps[step].loss, host.steps[step].loss, 1e-4) << step;
    EXPECT_NEAR(device.steps[step].grad_norm, host.steps[step].grad_norm, 1e-3) << step;
  }
}

TEST_F(GpuTest, RightTrainingsStayWithinTheirLimits) {
  for (const auto dtype : {traces::DType::kFloat32, traces::DType::kBFloat16})
    for (const auto strategy : {traces::Strategy::kRing, traces::Strategy::kUlysses}) {
      TrainConfig config;
      config.text = {test::sampleText()};
      config.cp = 4;
      config.steps = 3;
      config.device = traces::Device::kCuda;
      config.dtype = dtype;
      config.strategy = strategy;
      config.verify = true;
      Gate gate(config.cp);
      const TrainOutcome outcome = runTraining(config, gate, nullptr);
      ASSERT_FALSE(outcome.diffs.empty());
      for (const auto& diff : outcome.diffs)
        EXPECT_LE(diff.ratio, 1) << diff.tensor << " of step " << diff.place.train_step;
    }
}

TEST_F(GpuTest, StagesAreTimedByTheGpuAndFitBetweenTheHostsTimes) {
  auto trace = std::make_shared<traces::Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<test::TraceSink>(trace));
  traces::Recorder recorder(4, std::move(sinks));
  AttendInput in =
      AttendInput::random(RandomShape::parse("1,8,4096,64"), traces::DType::kFloat32, 3);
  AttendConfig config = test::attendConfig(4);
  config.device = traces::Device::kCuda;
  Gate gate(4);
  attend(in, config, gate, &recorder);
  const std::int64_t end = recorder.now();
  recorder.close();
  for (WorldRank rank = WorldRank::of(0); rank.value() < 4; rank = rank.next())
    for (const traces::Event& event : trace->events(rank)) {
      EXPECT_EQ(event.pending, 0u);
      EXPECT_LE(event.end_ns, end);
      if (event.kind != traces::EventKind::kAttend) continue;
      EXPECT_EQ(event.clock, traces::Clock::kDevice);
      EXPECT_GT(event.duration(), 0);
    }
}

TEST_F(GpuTest, TensorsOnAGpuAreSavedAndReadLiveUnchanged) {
  const at::Tensor tensor = at::arange(6, at::TensorOptions(at::kFloat).device(at::kCUDA));
  test::TempDir dir;
  saveTensors(dir.file("a.safetensors"), {{"t", tensor}});
  const auto file = traces::SafeTensorsFile::read(dir.file("a.safetensors"));
  EXPECT_TRUE(toTensor(file.at("t"), "t").equal(tensor.cpu()));
  LiveTensors live;
  live.put(WorldRank::of(0), "q", {}, tensor);
  const auto read =
      readLiveTensor(live, {WorldRank::of(0), "q", traces::Place{}.layer, {}, {2}, {5}});
  EXPECT_EQ(read.values, (std::vector<double>{2, 3, 4}));
}

TEST(GpuRefusalTest, TrainingWithoutAGpuIsRefusedByTheReason) {
  if (gpu::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_ERROR(trainedOn(traces::Device::kCuda), ErrorCode::kUsage, gpu::unavailable());
}

TEST(GpuRefusalTest, WithoutAGpuTheDeviceIsRefusedByTheReason) {
  if (gpu::count() > 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_ERROR(checkTransport(traces::TransportKind::kLocal, traces::Device::kCuda, 4),
               ErrorCode::kUsage, gpu::unavailable());
  EXPECT_ERROR(checkTransport(traces::TransportKind::kNccl, traces::Device::kCpu, 4),
               ErrorCode::kUsage, "nccl needs one GPU a rank");
}

}  // namespace
}  // namespace ringscope::engine
