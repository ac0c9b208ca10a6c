// SPDX-License-Identifier: Apache-2.0
// Plans without a recording: work, bytes and messages by definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/support/clock_cases.h"
#include "tests/support/many_ranks.h"
#include "traces/analysis/clock/prediction.h"
#include "traces/format/core/error.h"
#include "traces/plan/strategy_choices.h"

namespace ringscope::test {
namespace {

using namespace traces;

ModelSizes llama8b() {
  return {"llama-8B", 32, 4096, 32, 8, 128, 14336, 128256, false};
}

RunSpec onFour(Strategy strategy) {
  RunSpec run;
  run.cp = 4;
  run.strategy = strategy;
  run.dtype = DType::kBFloat16;
  run.seq_len = 32768;
  return run;
}

TEST(ClockPlannedTest, ParametersAgreeWithTheModelCard) {
  EXPECT_NEAR(static_cast<double>(llama8b().parameters()), 8.03e9, 0.01e9);
  const PlannedSizes sizes(onFour(Strategy::kRing), llama8b());
  // 8,192 tokens of 8 heads of 128, K and V in bf16, dK and dV in fp32; 8 billion fp32 gradients.
  EXPECT_EQ(sizes.messageBytes(Cargo::kKv), 2 * 8192 * 8 * 128 * 2);
  EXPECT_EQ(sizes.messageBytes(Cargo::kDkv), 2 * 8192 * 8 * 128 * 4);
  EXPECT_EQ(sizes.gradientBytes(), 4 * llama8b().parameters());
}

TEST(ClockPlannedTest, MatrixProductsTakeTwoOperationsPerParameterAndToken) {
  const PlannedSizes sizes(onFour(Strategy::kRing), llama8b());
  const double embedding = 128256.0 * 4096, norms = 65 * 4096;
  double forward = 32 * (sizes.project(Direction::kForward).flops +
                         sizes.feedForward(Direction::kForward).flops) +
                   sizes.loss(Direction::kForward).flops;
  EXPECT_DOUBLE_EQ(forward,
                   2 * 8192 * (static_cast<double>(llama8b().parameters()) - embedding - norms));
  EXPECT_EQ(sizes.project(Direction::kBackward).flops,
            2 * sizes.project(Direction::kForward).flops);
  EXPECT_EQ(sizes.attend(Direction::kForward, 1000).flops, 4.0 * 128 * 32 * 1000);
  EXPECT_EQ(sizes.attend(Direction::kBackward, 1000).flops, 2.5 * 4 * 128 * 32 * 1000);
}

TEST(ClockPlannedTest, AFirstBlockIsConvertedAndNotMerged) {
  const PlannedSizes sizes(onFour(Strategy::kRing), llama8b());
  const double values = 8192 * 32 * 128;
  EXPECT_EQ(sizes.merge(false).memory_bytes, values * (2 * 4 + 2)) << "fp32 sums, bf16 block";
  EXPECT_EQ(sizes.merge(true).memory_bytes, values * (2 + 4));
  RunSpec wide = onFour(Strategy::kRing);
  wide.dtype = DType::kFloat32;
  EXPECT_EQ(PlannedSizes(wide, llama8b()).merge(true).memory_bytes, 0) << "nothing to convert";
}

TEST(ClockPlannedTest, EveryStrategySendsTheMessagesOfItsTable) {
  struct Case {
    Strategy strategy;
    Rotate rotate;
    Order order;
    std::int64_t kv_forward, kv_backward, dkv, heads_forward, heads_backward;
  };
  constexpr auto kFirst = Order::kDiagonalFirst, kLast = Order::kDiagonalLast;
  ModelSizes sizes = llama8b();
  sizes.layers = 1;
  for (const Case& c : {Case{Strategy::kRing, Rotate::kP2p, kFirst, 3, 3, 4, 0, 0},
                        Case{Strategy::kRing, Rotate::kP2p, kLast, 3, 3, 3, 0, 0},
                        Case{Strategy::kRing, Rotate::kAllGather, kFirst, 3, 3, 4, 0, 0},
                        Case{Strategy::kRing, Rotate::kAllGather, kLast, 3, 3, 3, 0, 0},
                        Case{Strategy::kAllGather, Rotate::kP2p, kFirst, 3, 3, 3, 0, 0},
                        Case{Strategy::kUlysses, Rotate::kP2p, kFirst, 0, 0, 0, 9, 6},
                        Case{Strategy::kHybrid, Rotate::kP2p, kFirst, 1, 1, 2, 3, 2}}) {
    RunSpec run = onFour(c.strategy);
    run.rotate = c.rotate;
    run.order = c.order;
    const Program program =
        plannedProgram(run, sizes, deviceSpeed(devicePreset("h100").value, run, 1));
    for (const Program::Rank& rank : program.ranks) {
      std::map<std::pair<Payload, Direction>, std::int64_t> sends;
      for (const Program::Happening& event : rank.events)
        if (event.kind == EventKind::kSend) ++sends[{event.payload, event.place.direction}];
      const std::string what = strategyTitle(run);
      EXPECT_EQ((sends[{Payload::kKv, Direction::kForward}]), c.kv_forward) << what;
      EXPECT_EQ((sends[{Payload::kKv, Direction::kBackward}]), c.kv_backward) << what;
      EXPECT_EQ((sends[{Payload::kDkv, Direction::kBackward}]), c.dkv) << what;
      EXPECT_EQ((sends[{Payload::kHeads, Direction::kForward}]), c.heads_forward) << what;
      EXPECT_EQ((sends[{Payload::kHeads, Direction::kBackward}]), c.heads_backward) << what;
    }
  }
}

TEST(ClockPlannedTest, BlocksAreAttendedInTheOrderOfTheRing) {
  const auto owners = [](const RunSpec& run, Direction direction) {
    ModelSizes sizes = llama8b();
    sizes.layers = 1;
    const auto device = deviceSpeed(devicePreset("h100").value, run, 1);
    std::vector<int> all;
    const Program program = plannedProgram(run, sizes, device);
    for (const auto& event : program.ranks[1].events)
      if (event.kind == EventKind::kAttend && event.place.direction == direction)
        all.push_back(event.source_rank.value());
    return all;
  };
  RunSpec run = onFour(Strategy::kRing);
  EXPECT_EQ(owners(run, Direction::kForward), (std::vector{1, 0, 3, 2}));
  EXPECT_EQ(owners(run, Direction::kBackward), (std::vector{1, 0, 3, 2}));
  run.order = Order::kDiagonalLast;
  EXPECT_EQ(owners(run, Direction::kForward), (std::vector{1, 0, 3, 2}));
  EXPECT_EQ(owners(run, Direction::kBackward), (std::vector{2, 3, 0, 1}));
  EXPECT_EQ(owners(onFour(Strategy::kHybrid), Direction::kForward), (std::vector{1, 3}));
  EXPECT_EQ(owners(onFour(Strategy::kUlysses), Direction::kForward), (std::vector{1}));
}

TEST(ClockPlannedTest, CollectivesCountDataAndTensorParallelRanks) {
  RunSpec run = onFour(Strategy::kRing);
  run.dp = 2;
  run.tp = 2;
  run.batch = 2;
  ModelSizes sizes = llama8b();
  sizes.layers = 1;
  const Program program =
      plannedProgram(run, sizes, deviceSpeed(devicePreset("h100").value, run, 1));
  ASSERT_EQ(program.ranks.size(), 4u);
  EXPECT_EQ(program.collectives.back().axis, GroupAxis::kDpCp);
  EXPECT_EQ(program.collectives.back().ranks, 8);
  EXPECT_EQ(program.collectives.back().members, 4);
  EXPECT_EQ(program.collectives.front().axis, GroupAxis::kTp);
  EXPECT_EQ(program.collectives.front().ranks, 2);
  // Eight of each of the four ranks: embedding, two forward, two of the loss, its gradient, two
  // backward.
  EXPECT_EQ(program.collectives.size(), 4u * 8 + 1);
  run.recompute = true;
  const Program again = plannedProgram(run, sizes, deviceSpeed(devicePreset("h100").value, run, 1));
  EXPECT_EQ(again.collectives.size(), 4u * 10 + 1);
}

TEST(ClockPlannedTest, ALongSequenceHidesHopsThatAShortOneExposes) {
  RunSpec run = onFour(Strategy::kRing);
  const DeviceSpeed device = deviceSpeed(devicePreset("h100").value, run, 0.6);
  Hardware hardware;
  hardware.link = linkPreset("pcie4").value;
  ModelSizes sizes = llama8b();
  sizes.layers = 2;
  const LengthSweep sweep = sweepLengths(run, sizes, device, hardware, 4096, 262144);
  ASSERT_EQ(sweep.lengths.size(), 7u);
  ASSERT_TRUE(sweep.ring_hides_forward_at);
  // A hop takes `S/4 · 4,096 B ÷ 31.5 GB/s`, and a block `S²/16 · ½ · 16,384` operations ÷ 593
  // TFLOP/s. A block is as long as its hop at S = 37,700.
  EXPECT_GT(*sweep.ring_hides_forward_at, 30'000);
  EXPECT_LT(*sweep.ring_hides_forward_at, 60'000);
  const Prediction &first = sweep.at.front().front(), &last = sweep.at.back().front();
  EXPECT_EQ(first.title, "ring");
  // Each of 4 ranks has 3 hops of 138,853 ns in each of 2 layers. The first hop overlaps the
  // diagonal block of 14,490 ns and the conversion of its result to float32. The result has 1,024 ·
  // 32 · 128 numbers of 6 bytes each, which take 12,520 ns at 2,010 GB/s. Each later hop overlaps a
  // block of 14,476 ns and a merge of 10 bytes per number, which takes 20,867 ns.
  EXPECT_EQ(first.communication.forward.exposed_ns,
            4 * 2 * (3 * 138'853 - 14'490 - 12'520 - 2 * (14'476 + 20'867)));
  // Blocks of 59 ms hide hops of 8.5 ms. In backward, blocks of 148 ms hide hops of 8.5 ms and 17
  // ms. No block hides the last hop home, which carries 65,536 · 8 · 128 · 2 · 4 bytes.
  EXPECT_EQ(last.communication.forward.exposed_ns, 0);
  EXPECT_EQ(last.communication.attention.exposed_ns, 4 * 2 * (17'043'521 + 5'700));
}

TEST(ClockPlannedTest, LeavesOutStrategiesThatCannotRun) {
  RunSpec run = onFour(Strategy::kRing);
  run.cp = 8;
  ModelSizes sizes = llama8b();
  sizes.layers = 1;
  sizes.heads = sizes.kv_heads = 4;  // too few for Ulysses over 8
  const DeviceSpeed device = deviceSpeed(devicePreset("b200").value, run, 0.6);
  std::vector<std::string> titles;
  for (const Prediction& p : predictStrategies(run, sizes, device, {})) titles.push_back(p.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"ring", "ring, allgather", "all_gather",
                                              "hybrid 2 × 4", "hybrid 2 × 4, allgather"}));
}

TEST(ClockPlannedTest, RejectsRunsThatOnlyDataDescribe) {
  RunSpec run = onFour(Strategy::kRing);
  run.mask = MaskKind::kDocuments;
  EXPECT_THROW(plannedProgram(run, llama8b(), {}), Error);
  run = onFour(Strategy::kRing);
  run.seq_len = 33;
  EXPECT_THROW(plannedProgram(run, llama8b(), {}), Error);
  EXPECT_THROW(linkPreset("carrier pigeon"), Error);
}

TEST(ClockPlannedTest, ReadsSizesFromAHuggingFaceConfiguration) {
  const auto folder = std::filesystem::temp_directory_path() / "ringscope_clock_config";
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& text) {
    std::ofstream(folder / "config.json") << text;
  };
  write(R"({"hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4,
            "num_hidden_layers": 2, "intermediate_size": 160, "vocab_size": 320,
            "tie_word_embeddings": true})");
  const ModelSizes sizes = readModelSizes(folder.string());
  EXPECT_EQ(sizes.head_dim, 8);
  EXPECT_EQ(sizes.name, "ringscope_clock_config");
  EXPECT_EQ(sizes.parameters(), 2 * (64 * 8 * 24 + 3 * 64 * 160) + 5 * 64 + 320 * 64);
  write(R"({"hidden_size": 64})");
  EXPECT_THROW(readModelSizes(folder.string()), Error);
  write(R"({"num_local_experts": 8})");
  EXPECT_THROW(readModelSizes(folder.string()), Error);
  write(R"({"hidden_size": "64", "num_hidden_layers": 2})");
  EXPECT_THROW(readModelSizes(folder.string()), Error);
  std::filesystem::remove_all(folder);
}

TEST(ClockPlannedTest, GroupsSideBySideTakeAsLongAsOneGroup) {
  const ClockCase c = clockCase(4);
  const Program one = plannedProgram(c.run, c.sizes, c.device);
  const ModelTimeline small = replay(one, c.hardware);
  const ModelTimeline large = replay(repeatProgram(one, 16, 5), c.hardware);
  EXPECT_EQ(large.step_end_ns.size(), 5u);
  EXPECT_EQ(large.endNs(), 5 * small.endNs());
  EXPECT_EQ(large.sum().exposed_ns, 16 * 5 * small.sum().exposed_ns);
}

}  // namespace
}  // namespace ringscope::test
