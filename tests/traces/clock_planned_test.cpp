// SPDX-License-Identifier: Apache-2.0
// Plans without a recording: pairs, bytes and operations by definition, and the statements about
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/clock_cases.h"
#include "tests/support/many_ranks.h"
#include "traces/analysis/clock/prediction.h"
#include "traces/format/core/error.h"

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

TEST(ClockPlannedTest, SizesOfALlamaAreThoseOfItsCard) {
  EXPECT_NEAR(static_cast<double>(llama8b().parameters()), 8.03e9, 0.01e9);
  const PlannedSizes sizes(onFour(Strategy::kRing), llama8b());
  // 8,192 tokens of 8 heads of width 128, K and V in bf16, dK and dV in fp32; 8 billion fp32
  // gradients.
  EXPECT_EQ(sizes.kvBytes(), 2 * 8192 * 8 * 128 * 2);
  EXPECT_EQ(sizes.dkvBytes(), 2 * 8192 * 8 * 128 * 4);
  EXPECT_EQ(sizes.gradientBytes(), 4 * llama8b().parameters());
}

TEST(ClockPlannedTest, MatrixProductsAreTwoOperationsForEachParameterAndToken) {
  const PlannedSizes sizes(onFour(Strategy::kRing), llama8b());
  const double embedding = 128256.0 * 4096, norms = 65 * 4096;
  double forward = 32 * (sizes.project(Direction::kForward).matmul_flops +
                         sizes.feedForward(Direction::kForward).matmul_flops) +
                   sizes.loss(Direction::kForward).matmul_flops;
  EXPECT_DOUBLE_EQ(forward,
                   2 * 8192 * (static_cast<double>(llama8b().parameters()) - embedding - norms));
  EXPECT_EQ(sizes.project(Direction::kBackward).matmul_flops,
            2 * sizes.project(Direction::kForward).matmul_flops);
  const StageWork attention = sizes.attend(Direction::kForward, 1000, {1200, 2});
  EXPECT_EQ(attention.attention_flops, 4.0 * 128 * 32 * 1000);
  EXPECT_EQ(attention.masked_flops, 4.0 * 128 * 32 * 200) << "computed, then left out";
  EXPECT_EQ(attention.scores, 32 * 1200);
  EXPECT_EQ(attention.calls, 2);
  EXPECT_EQ(sizes.attend(Direction::kBackward, 1000, {1200, 2}).attention_backward_flops,
            2.5 * 4 * 128 * 32 * 1000);
}

TEST(ClockPlannedTest, WorkIsCountedByPieceByTileAndByParameterTensor) {
  const PlannedSizes sizes(onFour(Strategy::kRing), llama8b());
  KernelWork kernel;
  kernel.pairs = 1200;
  kernel.small_pairs = 300;
  kernel.calls = 6;
  kernel.tiles = 5;
  kernel.pieces = 3;
  kernel.rows = 700;
  const StageWork attention = sizes.attend(Direction::kForward, 1000, kernel);
  const StageSample parts = attention.parts();
  EXPECT_EQ(attention.events, 3);
  EXPECT_EQ(parts.calls, 6);
  EXPECT_EQ(parts.tiles, 5 * 32) << "of each head";
  EXPECT_EQ(parts.small_flops, 4.0 * 128 * 32 * 300);
  EXPECT_EQ(parts.flops, 4.0 * 128 * 32 * 900);
  EXPECT_EQ(parts.scores, 32 * 900);
  const StageWork merge = sizes.merge(kernel);
  EXPECT_EQ(merge.events, 3);
  EXPECT_EQ(merge.memory_bytes, 700.0 * 32 * 128 * (2 * 4 + 2)) << "sums in fp32, blocks in bf16";
  kernel.threads = 3;
  EXPECT_EQ(sizes.attend(Direction::kForward, 1000, kernel).scores, 32 * 900);
  EXPECT_EQ(sizes.attend(Direction::kBackward, 1000, kernel).scores, 32 * 900 * 9.0 / 8)
      << "8 key heads, of which one thread has three and another two";
  kernel.threads = 12;
  EXPECT_EQ(sizes.attend(Direction::kBackward, 1000, kernel).scores, 32 * 900 * 12.0 / 8)
      << "in bf16 four threads have none";
  EXPECT_EQ(sizes.attend(Direction::kBackward, 1000, kernel).parts().small_flops,
            2.5 * 4 * 128 * 32 * 300 * 36.0 / 32)
      << "small pieces are computed in float32, with a key head for each query head";
  EXPECT_EQ(sizes.attend(Direction::kBackward, 1000, kernel).parts().flops,
            2.5 * 4 * 128 * 32 * 900 * 12.0 / 8);
  RunSpec wide = onFour(Strategy::kRing);
  wide.dtype = DType::kFloat32;
  const PlannedSizes in_float32(wide, llama8b());
  EXPECT_EQ(in_float32.attend(Direction::kBackward, 1000, kernel).scores, 32 * 900 * 36.0 / 32)
      << "32 query heads, three of them for some threads";
  for (const StageWork& work : {sizes.gradSync(), sizes.clip(), sizes.optimizer()})
    EXPECT_EQ(work.calls, 9 * 32 + 3);
}

TEST(ClockPlannedTest, ALayersDataIsFarWhenOtherLayersCameBetween) {
  ModelSizes sizes = llama8b();
  for (const std::int32_t layers : {1, 4, 32}) {
    sizes.layers = layers;
    const PlannedSizes planned(onFour(Strategy::kRing), sizes);
    const double share = (layers - 1.0) / layers;
    for (const Direction direction : {Direction::kForward, Direction::kBackward})
      for (const StageWork& work :
           {planned.project(direction), planned.feedForward(direction),
            planned.attend(direction, 1000, {1200, 2}), planned.merge({1200, 2})}) {
        EXPECT_GE(work.parts().bytes, 0);
        EXPECT_DOUBLE_EQ(work.parts().far_bytes, share * work.parts().bytes) << layers;
      }
  }
}

TEST(ClockPlannedTest, MoreOfTheParametersIsFarWhenAStepMovesMore) {
  ModelSizes sizes = llama8b();
  double before = 0;
  for (const std::int32_t layers : {1, 4, 32}) {
    sizes.layers = layers;
    RunSpec run = onFour(Strategy::kRing);
    run.seq_len = 1024;
    const PlannedSizes planned(run, sizes);
    const StageSample parts = planned.optimizer().parts();
    const double share = parts.far_bytes / parts.bytes;
    EXPECT_GT(share, before);
    EXPECT_LT(share, 1);
    for (const StageWork& work : {planned.gradSync(), planned.clip()})
      EXPECT_DOUBLE_EQ(work.parts().far_bytes, share * work.parts().bytes);
    run.seq_len = 32768;
    EXPECT_GT(PlannedSizes(run, sizes).optimizer().far_share, share) << "longer sequences";
    before = share;
  }
}

TEST(ClockPlannedTest, APlanForAClusterMergesBlocksAndNotPieces) {
  RunSpec run = onFour(Strategy::kRing);
  run.mask = MaskKind::kWindow;
  run.window = 1000;
  const DeviceSpeed h100 = speedOf(devicePreset("h100").value, run, 0.5);
  const auto merges = std::ranges::count(plannedProgram(run, llama8b(), h100).ranks[1].events,
                                         EventKind::kMerge, &Program::Happening::kind);
  EXPECT_EQ(merges, 32 * (3 + 4)) << "of three blocks forward, and of the gradients of four";
  const PlannedWork engine = plannedWork(run, llama8b());
  double pieces = 0;
  for (const PlannedStage& stage : engine.stages[1])
    if (stage.kind == EventKind::kMerge) pieces += stage.work.events;
  EXPECT_GT(pieces, 2 * merges) << "the engine cuts windows into pieces, which it merges";
}

TEST(ClockPlannedTest, EveryStrategySendsAsManyMessagesAsItsTableSays) {
  struct Case {
    Strategy strategy;
    Rotate rotate;
    Order order;
    std::int64_t kv_forward, kv_backward, dkv, heads_forward, heads_backward;
  };
  constexpr auto kFirst = Order::kDiagonalFirst, kLast = Order::kDiagonalLast;
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
    ModelSizes sizes = llama8b();
    sizes.layers = 1;
    const Program program = plannedProgram(run, sizes, speedOf(devicePreset("h100").value, run, 1));
    for (const Program::Rank& rank : program.ranks) {
      const auto sends = [&](Payload payload, Direction direction) {
        return std::count_if(rank.events.begin(), rank.events.end(), [&](const auto& event) {
          return event.kind == EventKind::kSend && event.payload == payload &&
                 event.place.direction == direction;
        });
      };
      const std::string what = std::string(name(c.strategy)) + " " + name(c.rotate);
      EXPECT_EQ(sends(Payload::kKv, Direction::kForward), c.kv_forward) << what;
      EXPECT_EQ(sends(Payload::kKv, Direction::kBackward), c.kv_backward) << what;
      EXPECT_EQ(sends(Payload::kDkv, Direction::kBackward), c.dkv) << what;
      EXPECT_EQ(sends(Payload::kHeads, Direction::kForward), c.heads_forward) << what;
      EXPECT_EQ(sends(Payload::kHeads, Direction::kBackward), c.heads_backward) << what;
    }
  }
}

TEST(ClockPlannedTest, DataAndTensorParallelRanksCountInTheirCollectives) {
  RunSpec run = onFour(Strategy::kRing);
  run.dp = 2;
  run.tp = 2;
  run.batch = 2;
  ModelSizes sizes = llama8b();
  sizes.layers = 1;
  const Program program = plannedProgram(run, sizes, speedOf(devicePreset("h100").value, run, 1));
  ASSERT_EQ(program.ranks.size(), 4u);
  EXPECT_EQ(program.collectives.back().axis, GroupAxis::kDpCp);
  EXPECT_EQ(program.collectives.back().ranks, 8);
  EXPECT_EQ(program.collectives.back().members, 4);
  EXPECT_EQ(program.collectives.front().axis, GroupAxis::kTp);
  EXPECT_EQ(program.collectives.front().ranks, 2);
  // Eight on each of the four ranks: embedding, two forward, two of the loss, its gradient, two
  // backward.
  EXPECT_EQ(program.collectives.size(), 4u * 8 + 1);
  run.recompute = true;
  const Program again = plannedProgram(run, sizes, speedOf(devicePreset("h100").value, run, 1));
  EXPECT_EQ(again.collectives.size(), 4u * 10 + 1);
}

TEST(ClockPlannedTest, ALongerSequenceHidesHopsThatAShortOneExposes) {
  RunSpec run = onFour(Strategy::kRing);
  const DeviceSpeed device = speedOf(devicePreset("h100").value, run, 0.6);
  Hardware hardware;
  hardware.link = linkPreset("pcie4").value;
  ModelSizes sizes = llama8b();
  sizes.layers = 2;
  const LengthSweep sweep = sweepLengths(run, sizes, device, hardware, 4096, 262144);
  ASSERT_EQ(sweep.lengths.size(), 7u);
  ASSERT_TRUE(sweep.ring_hides_forward_at);
  // A hop takes S/4 · 4,096 B ÷ 31.5 GB/s, a block S²/16 · ½ · 16,384 operations ÷ 593 TFLOP/s. A
  // block is as long as its hop at S = 37,700.
  EXPECT_GT(*sweep.ring_hides_forward_at, 30'000);
  EXPECT_LT(*sweep.ring_hides_forward_at, 60'000);
  const Prediction &first = sweep.at.front().front(), &last = sweep.at.back().front();
  EXPECT_EQ(first.title, "ring");
  // 3 hops of 138,853 ns in each of 2 layers of 4 ranks. The diagonal hides 14,490, and converting
  // its result of 1,024 · 32 · 128 numbers to float32, 6 bytes each at 2,010 GB/s, hides 12,520.
  // Two blocks of 14,476 with merges of 10 bytes per number hide 20,867 each.
  EXPECT_EQ(first.communication.forward.exposed_ns,
            4 * 2 * (3 * 138'853 - 14'490 - 12'520 - 2 * (14'476 + 20'867)));
  // Blocks of 59 ms hide hops of 8.5 ms, in backward 148 hide 8.5 and 17. Nothing hides the last
  // hop home of 65,536 · 8 · 128 · 2 · 4 bytes.
  EXPECT_EQ(last.communication.forward.exposed_ns, 0);
  EXPECT_EQ(last.communication.attention.exposed_ns, 4 * 2 * (17'043'521 + 5'700));
}

TEST(ClockPlannedTest, StrategiesThatCannotRunAreLeftOut) {
  RunSpec run = onFour(Strategy::kRing);
  run.cp = 8;
  ModelSizes sizes = llama8b();
  sizes.layers = 1;
  sizes.heads = sizes.kv_heads = 4;  // too few for Ulysses over 8
  const DeviceSpeed device = speedOf(devicePreset("b200").value, run, 0.6);
  std::vector<std::string> titles;
  for (const Prediction& p : predictStrategies(run, sizes, device, {})) titles.push_back(p.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"ring", "ring, allgather", "all_gather",
                                              "hybrid 2 × 4", "hybrid 2 × 4, allgather"}));
}

TEST(ClockPlannedTest, RejectsPlansThatNeedData) {
  RunSpec run = onFour(Strategy::kRing);
  run.mask = MaskKind::kDocuments;
  EXPECT_THROW(plannedProgram(run, llama8b(), {}), Error);
  run = onFour(Strategy::kRing);
  run.seq_len = 33;
  EXPECT_THROW(plannedProgram(run, llama8b(), {}), Error);
  EXPECT_THROW(linkPreset("carrier pigeon"), Error);
}

TEST(ClockPlannedTest, AConfigurationOfHuggingFaceGivesTheSizes) {
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

TEST(ClockPlannedTest, ManyRanksAndStepsTakeAsLongAsOneGroupDoes) {
  const ClockCase c = clockCase(4);
  const Program one = plannedProgram(c.run, c.sizes, c.device);
  const ModelTimeline small = replay(one, c.hardware);
  const ModelTimeline large = replay(manyOf(one, 16, 5), c.hardware);
  EXPECT_EQ(large.step_end_ns.size(), 5u);
  EXPECT_EQ(large.endNs(), 5 * small.endNs());
  EXPECT_EQ(large.sum().exposed_ns, 16 * 5 * small.sum().exposed_ns);
}

}  // namespace
}  // namespace ringscope::test
