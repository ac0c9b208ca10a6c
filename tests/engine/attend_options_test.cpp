// SPDX-License-Identifier: Apache-2.0
// Options of an attention besides its strategy: one rank, another kernel, hops posted one by one,
// random input.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/attend/attend.h"
#include "engine/kernels/block_attention.h"
#include "tests/engine/attend_config.h"
#include "tests/engine/strategy_cases.h"
#include "tests/support/expect_error.h"
#include "tests/support/trace_sink.h"

namespace ringscope::engine {
namespace {

using traces::EventKind;
using traces::Strategy;
using traces::WorldRank;

constexpr Strategy kStrategies[] = {Strategy::kRing, Strategy::kAllGather, Strategy::kUlysses,
                                    Strategy::kHybrid};

AttendInput madeUp(const std::string& shape, traces::DType type = traces::DType::kFloat32) {
  return AttendInput::random(RandomShape::parse(shape), type, 7);
}

std::shared_ptr<traces::Trace> recorded(const AttendInput& in, AttendConfig config,
                                        AttendOutcome& outcome) {
  config.capture = "stats";
  auto trace = std::make_shared<traces::Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<test::TraceSink>(trace));
  traces::Recorder recorder(config.cp, std::move(sinks));
  Gate gate(config.cp);
  outcome = attend(in, config, gate, &recorder);
  recorder.close();
  return trace;
}

std::map<std::string, at::Tensor> oneDevice(const AttendInput& in, Kernel kernel, bool fp8) {
  DeviceAttention device(in.mask, {in.scale}, fp8, in.sinks, kernel);
  const auto r = device.forward(in.q, in.k, in.v, Layer::of(0));
  const auto g = device.backward(in.dout, in.q, in.k, in.v, r, Layer::of(0));
  return {{"out", r.out}, {"lse", r.lse}, {"dq", g.dq}, {"dk", g.dk}, {"dv", g.dv}};
}

void expectNothingMoved(const HopTotals& hops) {
  EXPECT_EQ(hops.kv_forward + hops.kv_backward + hops.dkv_backward, 0);
  EXPECT_EQ(hops.heads_forward + hops.heads_backward, 0);
  EXPECT_EQ(hops.bytes_forward + hops.bytes_backward + hops.wait_ns, 0);
}

TEST(OneRankTest, EveryStrategyIsTheBlockKernelBitForBitAndMovesNothing) {
  for (const auto type : {traces::DType::kFloat32, traces::DType::kFloat64,
                          traces::DType::kBFloat16, traces::DType::kFloat16})
    for (const char* shape : {"2,4,96,16", "1,6,300,24,2"})
      for (const Strategy strategy : kStrategies)
        for (const bool fp8 : {false, true}) {
          const AttendInput in = madeUp(shape, type);
          AttendConfig config = test::attendConfig(1);
          config.strategy = strategy;
          config.fp8 = fp8;
          Gate gate(1);
          const AttendOutcome outcome = attend(in, config, gate);
          for (const auto& [name, expected] : oneDevice(in, Kernel::kAuto, fp8))
            EXPECT_TRUE(at::equal(outcome.tensors.at(name), expected))
                << name << " " << traces::name(strategy) << " " << shape << " fp8 " << fp8;
          expectNothingMoved(outcome.hops.at(0));
        }
}

TEST(OneRankTest, MasksOfManyPiecesAndEveryBalanceAreTheBlockKernelToo) {
  AttendInput in = madeUp("1,4,96,16", traces::DType::kBFloat16);
  using traces::Balance;
  for (const Mask& mask :
       {Mask::causalMask(), Mask::slidingWindow(20), Mask::packed({0, 30, 33, 96}, 96)})
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped}) {
      in.mask = mask;
      Gate gate(1);
      const auto outcome = attend(in, test::attendConfig(1, balance), gate);
      for (const auto& [name, expected] : oneDevice(in, Kernel::kAuto, false))
        EXPECT_TRUE(at::equal(outcome.tensors.at(name), expected))
            << name << " " << traces::name(mask.kind()) << " " << traces::name(balance);
    }
}

TEST(OneRankTest, NothingIsRecordedButAttention) {
  for (const Strategy strategy : kStrategies) {
    AttendConfig config = test::attendConfig(1);
    config.strategy = strategy;
    AttendOutcome outcome;
    const auto trace = recorded(madeUp("1,4,64,16"), config, outcome);
    int attends = 0;
    for (const traces::Event& event : trace->events(WorldRank::of(0))) {
      EXPECT_EQ(event.kind, EventKind::kAttend) << traces::name(event.kind);
      ++attends;
    }
    EXPECT_EQ(attends, 2) << "forward and backward";
    for (const auto& sample : trace->memory(WorldRank::of(0))) {
      if (sample.category == traces::MemoryCategory::kKv ||
          sample.category == traces::MemoryCategory::kInFlight) {
        EXPECT_EQ(sample.bytes, 0) << traces::name(sample.category);
      }
    }
  }
}

TEST(RecordedAttentionTest, PaddingAfterFullAttentionMakesItNeitherCausalNorPacked) {
  AttendInput in = madeUp("1,2,30,8");
  in.mask = Mask::full();
  AttendConfig config = test::attendConfig(4, traces::Balance::kNone);
  config.pad = true;
  AttendOutcome outcome;
  const auto trace = recorded(in, config, outcome);
  ASSERT_EQ(trace->intents().size(), 1u);
  EXPECT_EQ(trace->intents().front().mask, traces::MaskKind::kFull);
  ASSERT_EQ(trace->intents().front().documents.size(), 1u);
  EXPECT_EQ(trace->intents().front().documents.front().end, 30);
}

TEST(RecordedAttentionTest, AGradientOfAGatheredBlockBelongsToItsReceiver) {
  AttendConfig config = test::attendConfig(4);
  config.strategy = Strategy::kAllGather;
  AttendOutcome outcome;
  const auto trace = recorded(madeUp("1,2,32,8"), config, outcome);
  int sums = 0;
  for (int rank = 0; rank < 4; ++rank)
    for (const traces::Event& event : trace->events(WorldRank::of(rank))) {
      const bool sent = event.kind == EventKind::kSend;
      if (event.payload != traces::Payload::kDkv || (!sent && event.kind != EventKind::kReceive))
        continue;
      ++sums;
      EXPECT_EQ(event.source_rank, sent ? event.peer : event.rank);
    }
  EXPECT_EQ(sums, 2 * 4 * 3);
}

TEST(KernelTest, EachKernelOfTheProcessorEqualsFp64UnderEveryStrategy) {
  for (const Kernel kernel : {Kernel::kFlash, Kernel::kMath})
    for (const auto type :
         {traces::DType::kFloat32, traces::DType::kFloat64, traces::DType::kBFloat16})
      for (const Strategy strategy : kStrategies) {
        const AttendInput in = madeUp("1,4,128,16", type);
        AttendConfig config = test::attendConfig(4);
        config.strategy = strategy;
        config.kernel = kernel;
        Gate gate(4);
        for (const auto& diff : verifyAttend(in, attend(in, config, gate)))
          EXPECT_LE(diff.ratio, 1) << diff.tensor << " " << traces::name(kernel) << " "
                                   << traces::name(strategy) << " " << traces::name(type);
      }
}

TEST(KernelTest, PlainProductsAreReallyOthersThanFlash) {
  const AttendInput in = madeUp("1,4,128,16");
  const auto flash = oneDevice(in, Kernel::kFlash, false),
             math = oneDevice(in, Kernel::kMath, false);
  EXPECT_TRUE(at::equal(flash.at("out"), oneDevice(in, Kernel::kAuto, false).at("out")));
  EXPECT_FALSE(at::equal(flash.at("out"), math.at("out")));
}

TEST(KernelTest, OneThatDoesNotTakeTheTensorsIsRefused) {
  AttendConfig config = test::attendConfig(4);
  config.kernel = Kernel::kEfficient;
  Gate gate(4);
  EXPECT_ERROR(attend(madeUp("1,4,64,16"), config, gate), ErrorCode::kUsage,
               "--device cuda alone; here use flash, math or auto");
}

TEST(OrderedHopTest, NumbersCountsAndBytesAreThoseOfBatchedHops) {
  for (const int cp : {1, 2, 3, 4, 5, 8})
    for (const auto transport : {traces::TransportKind::kLocal, traces::TransportKind::kGloo})
      for (const auto order : {traces::Order::kDiagonalFirst, traces::Order::kDiagonalLast}) {
        const AttendInput in = madeUp("1,2,240,8");
        AttendConfig config = test::attendConfig(cp, traces::Balance::kNone);
        config.transport = transport;
        config.order = order;
        Gate batched_gate(cp), gate(cp);
        const AttendOutcome batched = attend(in, config, batched_gate);
        config.p2p = traces::PointToPoint::kOrdered;
        const AttendOutcome outcome = attend(in, config, gate);
        test::expectHops(outcome, config, 2, false);
        for (const auto& [name, tensor] : batched.tensors)
          EXPECT_TRUE(at::equal(outcome.tensors.at(name), tensor)) << name << " cp " << cp;
        for (std::size_t rank = 0; rank < outcome.hops.size(); ++rank) {
          EXPECT_EQ(outcome.hops[rank].bytes_forward, batched.hops[rank].bytes_forward);
          EXPECT_EQ(outcome.hops[rank].bytes_backward, batched.hops[rank].bytes_backward);
        }
      }
}

/// The exchange numbers of a rank's sends, receives and waits for one payload at one place.
struct Posted {
  std::vector<std::uint32_t> sends, receives, waits;
};
std::map<std::tuple<traces::Payload, traces::Direction, int>, Posted> postedBy(
    const traces::Trace& trace, WorldRank rank) {
  std::map<std::tuple<traces::Payload, traces::Direction, int>, Posted> all;
  for (const traces::Event& e : trace.events(rank)) {
    auto& posted = all[{e.payload, e.place.direction, e.place.stage.value()}];
    if (e.kind == EventKind::kSend) posted.sends.push_back(e.exchange);
    if (e.kind == EventKind::kReceive) posted.receives.push_back(e.exchange);
    if (e.kind == EventKind::kWait) posted.waits.push_back(e.exchange);
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.sends.empty(); });
  return all;
}

TEST(OrderedHopTest, TheRecordingShowsEvenRanksSendFirstAndOddRanksReceiveFirst) {
  for (const int cp : {2, 3, 4}) {
    AttendConfig config = test::attendConfig(cp, traces::Balance::kNone);
    config.p2p = traces::PointToPoint::kOrdered;
    AttendOutcome outcome;
    const auto trace = recorded(madeUp("1,2,48,8"), config, outcome);
    EXPECT_EQ(trace->run()->p2p, traces::PointToPoint::kOrdered);
    for (int r = 0; r < cp; ++r) {
      const auto all = postedBy(*trace, WorldRank::of(r));
      EXPECT_EQ(all.size(), static_cast<std::size_t>(2 * (cp - 1) + cp));
      for (const auto& [place, posted] : all) {
        ASSERT_EQ(posted.sends.size(), 1u);
        ASSERT_EQ(posted.receives.size(), 1u);
        EXPECT_EQ(posted.sends[0] < posted.receives[0], r % 2 == 0) << "rank " << r << " of " << cp;
        EXPECT_EQ(posted.waits.size(), 2u) << "each is waited for by itself";
      }
    }
  }
}

TEST(OrderedHopTest, ABatchedHopIsOneExchange) {
  AttendOutcome outcome;
  const auto trace =
      recorded(madeUp("1,2,48,8"), test::attendConfig(3, traces::Balance::kNone), outcome);
  for (const auto& [place, posted] : postedBy(*trace, WorldRank::of(1))) {
    EXPECT_EQ(posted.sends, posted.receives);
    EXPECT_EQ(posted.waits, posted.sends);
  }
}

TEST(RandomInputTest, TheSameSeedGivesTheSameNumbersAndAnotherOthers) {
  const auto shape = RandomShape::parse("2,6,32,8,3");
  const auto a = AttendInput::random(shape, traces::DType::kFloat32, 1),
             b = AttendInput::random(shape, traces::DType::kBFloat16, 1),
             c = AttendInput::random(shape, traces::DType::kFloat32, 2);
  EXPECT_TRUE(at::equal(a.q.to(at::kBFloat16), b.q)) << "types differ by rounding alone";
  EXPECT_FALSE(at::equal(a.q, c.q));
  EXPECT_FALSE(at::equal(a.k, a.v));
  EXPECT_EQ(a.k.sizes(), (at::IntArrayRef{2, 3, 32, 8}));
  EXPECT_EQ(a.dout.sizes(), (at::IntArrayRef{2, 6, 32, 8}));
  EXPECT_NEAR(a.q.std().item<double>(), 1, 0.1);
  EXPECT_EQ(a.mask.kind(), traces::MaskKind::kCausal);
}

TEST(RandomInputTest, RejectsAnInvalidShape) {
  const std::pair<const char*, const char*> cases[] = {
      {"1,2,3", "has 3 numbers"},
      {"0,0,0,0", "holds 0; each number is at least 1"},
      {"1,-4,64,8", "holds -4"},
      {"1,4,64,8,3", "4 query heads do not divide into 3"},
      {"1,4,64,8,4,1", "has 6 numbers"},
      {"1,4,64,", "is not B,H,S,D"},
      {"1 ,4,64,8", "is not B,H,S,D"},
      {"1x4x64x8", "is not B,H,S,D"},
      {"1,4,99999999999999999999,8", "too large"},
      {"1048576,1048576,1048576,1048576", "268,435,456 numbers at most"},
  };
  for (const auto& [text, words] : cases)
    EXPECT_ERROR(RandomShape::parse(text), ErrorCode::kUsage, words);
  EXPECT_ERROR(AttendInput::random({}, traces::DType::kFloat32, 0, traces::MaskKind::kDocuments),
               ErrorCode::kUsage, "needs the cu_seqlens of an INPUT");
}

}  // namespace
}  // namespace ringscope::engine
