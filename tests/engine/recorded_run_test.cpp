// SPDX-License-Identifier: Apache-2.0
// The recording of a training run, and the results of diff and doctor on it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "engine/plan.h"
#include "tests/engine/sample_training.h"
#include "traces/analysis/compare/report.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/format/trace/flows.h"
#include "traces/format/trace/peak_memory.h"

namespace ringscope::engine {
namespace {

TEST(RecordedRunTest, HopsAndBytesAreThoseOfTheTableAndEveryOneIsMatched) {
  test::TempDir dir;
  for (const int cp : {2, 4}) {
    const auto trace = recorded(sampleConfig(cp, 1), dir.file("a.rscope"));
    const ExpectedHops expected = expectedHops(false, Order::kDiagonalFirst, cp, 1);
    const std::int64_t block = 2 * 2 * (128 / cp) * 32 * 4;  // K and V, 2 heads of width 32,
                                                             // float32
    for (const WorldRank rank : ranksFrom(WorldRank::of(0), cp))
      for (const Layer layer : {Layer::of(0), Layer::of(1)}) {
        auto hops = [&](traces::Payload p, traces::Direction d) {
          return traces::countHops(*trace, rank, p, 0, layer, d);
        };
        EXPECT_EQ(hops(traces::Payload::kKv, traces::Direction::kForward).hops,
                  expected.kv_forward);
        EXPECT_EQ(hops(traces::Payload::kKv, traces::Direction::kForward).bytes,
                  expected.kv_forward * block);
        EXPECT_EQ(hops(traces::Payload::kKv, traces::Direction::kBackward).hops,
                  expected.kv_backward);
        EXPECT_EQ(hops(traces::Payload::kDkv, traces::Direction::kBackward).hops,
                  expected.dkv_backward);
      }
    for (const auto payload : {traces::Payload::kKv, traces::Payload::kDkv})
      for (const auto& flow : traces::matchFlows(*trace, payload)) {
        ASSERT_TRUE(flow.send && flow.receive);
        EXPECT_EQ(flow.send->source_rank, flow.receive->source_rank);
        EXPECT_EQ(flow.send->bytes, flow.receive->bytes);
      }
  }
}

TEST(RecordedRunTest, EveryBlockIsTheSameOneWhereverItIsSeen) {
  test::TempDir dir;
  const auto trace = recorded(sampleConfig(4, 1), dir.file("a.rscope"));
  std::map<GroupRank, std::uint64_t> hash_of_source;
  for (const GroupRank rank : everyRank(4))
    for (int step = 0; step < 4; ++step) {
      const auto* kv =
          trace->findTensor(traces::TensorName::of("kv"),
                            {0, Layer::of(0), traces::Direction::kForward, RingStep::of(step)},
                            WorldRank::of(rank.value()));
      ASSERT_NE(kv, nullptr);
      const GroupRank source = roundRing(rank, -step, 4);
      EXPECT_EQ(hash_of_source.try_emplace(source, kv->hash).first->second, kv->hash);
    }
  EXPECT_EQ(hash_of_source.size(), 4u);
}

TEST(RecordedRunTest, ShardsPositionsLseAndMemoryAreThere) {
  test::TempDir dir;
  const auto trace = recorded(sampleConfig(4, 1), dir.file("a.rscope"));
  for (const WorldRank rank : ranksFrom(WorldRank::of(0), 4)) {
    const int r = rank.value();
    for (const char* buffer : {"input_ids", "labels", "position_ids"}) {
      const auto* shard = trace->findShard(buffer, 0, rank);
      ASSERT_NE(shard, nullptr);
      EXPECT_EQ(
          shard->global_from_local,
          (std::vector<traces::TokenRun>{{r * 16, r * 16 + 16}, {(7 - r) * 16, (8 - r) * 16}}));
    }
    const auto positions =
        trace->values(*trace->findTensor(traces::TensorName::of("position_ids"), {0}, rank));
    EXPECT_EQ(positions->front(), r * 16);
    for (const char* lse : {"block_lse", "running_lse"})
      EXPECT_NE(
          trace->findTensor(traces::TensorName::of(lse),
                            {0, Layer::of(0), traces::Direction::kForward, RingStep::of(0)}, rank),
          nullptr);
    EXPECT_FALSE(trace->memory(rank).empty());
  }
}

TEST(RecordedRunTest, VerificationAndCaptureLeaveThePeakMemoryAsItIs) {
  test::TempDir dir;
  const auto peaks_with = [&](bool verify, const char* capture) {
    TrainConfig config = sampleConfig(4, 3);
    config.verify = verify;
    config.capture = capture;
    const auto trace = recorded(config, dir.file("a.rscope"));
    const auto& note = trace->note("step.2");
    const auto peaks = note.at("peak_bytes").get<std::vector<std::int64_t>>();
    const auto all = note.at("peak_bytes_with_verification").get<std::vector<std::int64_t>>();
    for (const WorldRank rank : ranksFrom(WorldRank::of(0), 4)) {
      EXPECT_EQ(traces::peakMemory(*trace, rank).bytes, peaks.at(rank.index()));
      EXPECT_GE(all.at(rank.index()), peaks.at(rank.index()));
    }
    EXPECT_EQ(all.front() > 2 * peaks.front(), verify) << all.front();
    return peaks;
  };
  const auto plain = peaks_with(false, "stats"), watched = peaks_with(true, "full");
  for (std::size_t rank = 0; rank < plain.size(); ++rank)
    EXPECT_NEAR(static_cast<double>(watched[rank]) / static_cast<double>(plain[rank]), 1, 0.02);
}

TEST(RecordedRunTest, TwoCorrectRunsOfOtherLayoutsAreEqualWithinRounding) {
  test::TempDir dir;
  const auto run = [&](int cp, traces::Balance balance, const char* file) {
    TrainConfig config = sampleConfig(cp, 3);
    config.balance = balance;
    config.verify = true;
    config.capture = "full";
    return recorded(config, dir.file(file));
  };
  const auto one = run(4, traces::Balance::kHeadTail, "a.rscope"),
             two = run(4, traces::Balance::kNone, "b.rscope"),
             three = run(2, traces::Balance::kStriped, "c.rscope");
  for (const auto& other : {two, three}) {
    const auto comparison = traces::compareRuns(*one, *other);
    EXPECT_EQ(comparison.verdict(), traces::Agreement::kRounding) << traces::toText(comparison);
  }
}

TEST(RecordedRunTest, CorrectRunsHaveNoFindingAndStayWithinNoise) {
  test::TempDir dir;
  for (const int cp : {1, 2, 4, 8})
    for (const char* balance : {"none", "head_tail"}) {
      TrainConfig config = sampleConfig(cp, 2);
      config.balance = traces::parse<traces::Balance>(balance);
      config.verify = true;
      config.seed = static_cast<std::uint64_t>(cp);
      const auto trace = recorded(config, dir.file("a.rscope"));
      const auto diagnosis = traces::diagnose(*trace);
      EXPECT_TRUE(diagnosis.findings().empty()) << traces::toText(diagnosis);
      EXPECT_EQ(traces::countChecks(diagnosis).not_made, 0);
      const auto summary = traces::summarize(*trace);
      EXPECT_EQ(summary.diverging, 0)
          << "cp " << cp << " " << balance << ": "
          << (summary.first_divergence ? traces::describe(*summary.first_divergence) : "");
    }
}

class InjectedMistake : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(InjectedMistake, IsNamedByTheDoctorAndSeenByTheDiffAndNowhereWritten) {
  const auto& [id, cp] = GetParam();
  test::TempDir dir;
  TrainConfig config = sampleConfig(cp, 2);
  config.mistakes = {id};
  config.verify = true;
  const auto trace = recorded(config, dir.file("a.rscope"));
  const auto findings = traces::diagnose(*trace).findings();
  ASSERT_EQ(findings.size(), 1u) << "one cause, one finding";
  EXPECT_EQ(findings.front().rule, id);
  EXPECT_EQ(findings.front().confidence, traces::Confidence::kCertain);
  EXPECT_FALSE(findings.front().evidence.empty());
  EXPECT_FALSE(findings.front().remedy.empty());
  EXPECT_GT(traces::summarize(*trace).diverging, 0);
  // The file contains no trace of the injection: this recording sealed nothing.
  std::ifstream in(dir.file("a.rscope"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(bytes.find(id), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, InjectedMistake,
                         testing::Combine(testing::Values("missing_position_ids", "naive_sum_merge",
                                                          "missing_cp_grad_reduce"),
                                          testing::Values(2, 4, 8)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_cp" +
                                  std::to_string(std::get<1>(test.param));
                         });

/// A plain sum is named for every source of blocks and every mask.
TEST(NaiveSumTest, IsNamedUnderEveryStrategyAndMask) {
  using traces::MaskKind, traces::Strategy;
  for (const auto& [strategy, mask] : {std::pair{Strategy::kAllGather, MaskKind::kCausal},
                                       {Strategy::kHybrid, MaskKind::kCausal},
                                       {Strategy::kRing, MaskKind::kWindow},
                                       {Strategy::kRing, MaskKind::kDocuments},
                                       {Strategy::kHybrid, MaskKind::kDocuments}}) {
    SCOPED_TRACE(std::string(traces::name(strategy)) + ", " + traces::name(mask));
    test::TempDir dir;
    TrainConfig config = sampleConfig(4, 1);
    config.strategy = strategy;
    config.ulysses = strategy == Strategy::kHybrid ? 2 : 0;
    config.mask = mask;
    config.window = mask == MaskKind::kWindow ? 48 : 0;
    config.separator = mask == MaskKind::kDocuments ? "." : "";
    config.capture = "full";
    const auto right = traces::diagnose(*recorded(config, dir.file("right")));
    EXPECT_TRUE(right.findings().empty()) << traces::toText(right);
    config.mistakes = {"naive_sum_merge"};
    const auto wrong = traces::diagnose(*recorded(config, dir.file("wrong")));
    ASSERT_EQ(wrong.findings().size(), 1u) << traces::toText(wrong);
    EXPECT_EQ(wrong.findings().front().rule, "naive_sum_merge");
  }
}

TEST(MissingPositionsTest, AreNamedUnderDocumentsHoweverTheyAreDealt) {
  for (const auto balance :
       {traces::Balance::kNone, traces::Balance::kHeadTail, traces::Balance::kStriped,
        traces::Balance::kPerDocument, traces::Balance::kPtrr}) {
    SCOPED_TRACE(traces::name(balance));
    test::TempDir dir;
    TrainConfig config = sampleConfig(4, 1);
    config.mask = traces::MaskKind::kDocuments;
    config.separator = ".";
    config.balance = balance;
    const auto right = traces::diagnose(*recorded(config, dir.file("right")));
    EXPECT_TRUE(right.findings().empty()) << traces::toText(right);
    config.mistakes = {"missing_position_ids"};
    const auto wrong = traces::diagnose(*recorded(config, dir.file("wrong")));
    ASSERT_EQ(wrong.findings().size(), 1u) << traces::toText(wrong);
    EXPECT_EQ(wrong.findings().front().rule, "missing_position_ids");
  }
}

TEST(DiffTest, TheBirthplaceOfAnErrorIsNamed) {
  test::TempDir dir;
  TrainConfig config = sampleConfig(4, 1);
  config.verify = true;
  config.mistakes = {"naive_sum_merge"};
  auto first = *traces::summarize(*recorded(config, dir.file("a.rscope"))).first_divergence;
  EXPECT_TRUE(first.isolated);
  EXPECT_EQ(traces::describe(first), "layer 0, out");
  config.mistakes = {"missing_position_ids"};
  first = *traces::summarize(*recorded(config, dir.file("b.rscope"))).first_divergence;
  EXPECT_FALSE(first.isolated) << "each attention was right for what it was given";
  EXPECT_EQ(traces::describe(first), "rotary");
}

}  // namespace
}  // namespace ringscope::engine
