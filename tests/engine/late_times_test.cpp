// SPDX-License-Identifier: Apache-2.0
// A device's own times reach the recording, however late the device reports them. The device is a
// stand-in; gpu_test.cpp uses a real one.
#include "engine/observe/late_times.h"

#include <gtest/gtest.h>

#include "engine/observe/observer.h"
#include "tests/support/trace_sink.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Trace;

constexpr std::int64_t kWork = 1000;  ///< ns between two marks

/// A device that reaches each mark `kWork` after the one before, once it may proceed.
struct Device {
  std::int64_t clock = 0;
  int given = 0, told = 0, allowed = 0;
  bool fails = false;
};

class StandIn : public DeviceQueue {
 public:
  explicit StandIn(Device& device) : device_(device) {}
  void mark() override { ++device_.given; }
  std::optional<std::int64_t> nextReached(bool wait) override {
    if (device_.fails) throw runFailed("the device is gone");
    if (device_.told >= device_.given || (!wait && device_.told >= device_.allowed)) return {};
    ++device_.told;
    return device_.clock += kWork;
  }

 private:
  Device& device_;
};

class LateTimesTest : public testing::Test {
 protected:
  /// Records a rank that attends `stages` times, merges after each stage, and sends nothing.
  std::shared_ptr<Trace> recorded(int stages, std::size_t room = 1 << 12) {
    auto trace = std::make_shared<Trace>();
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<test::TraceSink>(trace));
    traces::RecorderOptions options;
    options.events_per_rank = room;
    traces::Recorder recorder(1, std::move(sinks), options);
    begin_ = recorder.startNs();
    device_.clock = begin_;
    {
      Observer observer(WorldRank::of(0), &recorder, CapturePolicy::none(), nullptr, nullptr,
                        nullptr, std::make_unique<StandIn>(device_));
      for (int i = 0; i < stages; ++i) {
        const traces::Place place{0, traces::Layer::of(0), traces::Direction::kForward,
                                  traces::RingStep::of(i)};
        { const StageScope attend(observer, EventKind::kAttend, place); }
        { const StageScope wait(observer, EventKind::kWait, place); }
        { const StageScope merge(observer, EventKind::kMerge, place); }
      }
    }
    recorder.close();
    dropped_ = recorder.stats().dropped_events;
    return trace;
  }

  Device device_;
  std::int64_t begin_ = 0;
  std::uint64_t dropped_ = 0;
};

TEST_F(LateTimesTest, StagesOfTheDeviceHaveItsTimesAndTheOthersTheHosts) {
  constexpr int kStages = 100;
  device_.allowed = 31;  // the device lags behind until the end
  const auto trace = recorded(kStages);
  EXPECT_TRUE(trace->problems().empty());
  const auto events = trace->events(WorldRank::of(0));
  ASSERT_EQ(events.size(), std::size_t{3} * kStages);
  std::int64_t mark = 0;
  for (const Event& event : events) {
    EXPECT_EQ(event.pending, 0u);
    if (event.kind == EventKind::kWait) {
      EXPECT_EQ(event.clock, traces::Clock::kHost);
      EXPECT_EQ(event.queue, 0);
      continue;
    }
    EXPECT_EQ(event.clock, traces::Clock::kDevice);
    EXPECT_EQ(event.queue, 1);
    EXPECT_EQ(event.begin_ns, ++mark * kWork);
    EXPECT_EQ(event.end_ns, ++mark * kWork);
  }
}

TEST_F(LateTimesTest, ADroppedEventLeavesNoTimesBehind) {
  const auto trace = recorded(200, 16);
  EXPECT_GT(dropped_, 0u);
  for (const auto& problem : trace->problems())
    EXPECT_EQ(problem.find("that is not there"), std::string::npos) << problem;
  for (const Event& event : trace->events(WorldRank::of(0))) EXPECT_EQ(event.pending, 0u);
}

TEST_F(LateTimesTest, ADeviceThatFailsLeavesTheHostsTimes) {
  device_.fails = true;
  const auto trace = recorded(2);
  const auto events = trace->events(WorldRank::of(0));
  ASSERT_EQ(events.size(), 6u);
  int of_host = 0;
  for (const Event& event : events) {
    EXPECT_GE(event.end_ns, event.begin_ns);
    of_host += event.clock == traces::Clock::kHost;
  }
  EXPECT_EQ(of_host, 5) << "it is not asked again";
}

}  // namespace
}  // namespace ringscope::engine
