// SPDX-License-Identifier: Apache-2.0
// One layer of two tokens over two ranks, ring step by ring step: the first wrong step.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/verify/stage_check.h"

namespace ringscope::traces {
namespace {

/// Returns the right values. Scores are 0, so each block's weights are equal: v is 2 and 6, and out
/// is 4. With dout 1 each query adds a half to dv of each key and nothing to dk.
std::map<std::string, std::string> rightValues() {
  const std::string ln2 = "0.6931471805599453";
  return {{"q", "0"},         {"k", "1"},         {"v of 0", "2"},         {"v of 1", "6"},
          {"out", "4"},       {"lse", ln2},       {"block_out of 0", "2"}, {"block_out of 1", "6"},
          {"block_lse", "0"}, {"running 0", "0"}, {"running 1", ln2},      {"dout", "1"},
          {"dq", "0"},        {"dkv 0", "0,0.5"}, {"dkv 1", "0,1"}};
}

/// Replaced values: on all ranks, or only on "NAME@RANK.STEP".
using Replaced = std::map<std::string, std::string>;

class TwoTokens {
 public:
  explicit TwoTokens(Replaced spoilt = {}) : spoilt_(std::move(spoilt)) {}

  /// Records the layer. `more` has further lines of the recording.
  std::shared_ptr<Trace> record(const std::string& more = "") {
    std::string text =
        "run cp=2 seq_len=2 mask=full capture=full\nintent mask=full\ngroup cp 0,1\n";
    for (int rank = 0; rank < 2; ++rank) {
      text += "shard input_ids rank=" + std::to_string(rank) + " tokens=" + std::to_string(rank) +
              "-" + std::to_string(rank + 1) + "\n";
      for (const char* name : {"q", "k", "out", "dout", "dq"})
        text += line(name, name, rank, "shape=1x1x1x1");
      text += line("v", "v of " + std::to_string(rank), rank, "shape=1x1x1x1");
      text += line("lse", "lse", rank, "shape=1x1x1");
      for (int step = 0; step < 2; ++step) text += stage(rank, step);
    }
    auto trace = test::makeTrace(text + more);
    for (int rank = 0; rank < 2; ++rank)
      for (const Direction direction : {Direction::kForward, Direction::kBackward})
        trace->add(schedule(rank, direction));
    return trace;
  }

  StageCheck check(Direction direction, const std::string& more = "") {
    const auto trace = record(more);
    return checkStages(*trace, {0, Layer::of(0), 0}, {WorldRank::of(0), WorldRank::of(1)},
                       direction, {}, 1e6);
  }

 private:
  std::string stage(int rank, int step) {
    const int source = (rank + step) % 2;
    const std::string at = std::to_string(rank) + "." + std::to_string(step);
    const auto of_step = [&](const std::string& tensor, const std::string& value,
                             const std::string& words) {
      return line(tensor, value, rank,
                  "stage=" + std::to_string(step) + " source=" + std::to_string(source) + words,
                  at);
    };
    return of_step("block_out", "block_out of " + std::to_string(source),
                   " piece=0 shape=1x1x1x1") +
           of_step("block_lse", "block_lse", " piece=0 shape=1x1x1") +
           of_step("running_lse", "running " + std::to_string(step), " shape=1x1x1") +
           of_step("dkv", "dkv " + std::to_string(step), " shape=2x1x1x1x1");
  }

  std::string line(const std::string& tensor, const std::string& value, int rank,
                   const std::string& words, const std::string& at = "") {
    const auto own = spoilt_.find(tensor + "@" + (at.empty() ? std::to_string(rank) : at));
    std::string values = own == spoilt_.end() ? right_.at(value) : own->second;
    if (values == "absent") return "";
    return "tensor " + tensor + " rank=" + std::to_string(rank) + " layer=0 " + words +
           " values=" + values + "\n";
  }

  static ScheduleRecord schedule(int rank, Direction direction) {
    ScheduleRecord record;
    record.direction = direction;
    record.rank = WorldRank::of(rank);
    record.ring = {WorldRank::of(0), WorldRank::of(1)};
    record.ulysses = {record.rank};
    record.rows = {{rank, 1, 1}};
    record.q_head_end = 1;
    record.kv_heads = {0};
    for (int step = 0; step < 2; ++step)
      record.stages.push_back({RingStep::of(step),
                               WorldRank::of((rank + step) % 2),
                               step == 0,
                               WhyEmpty::kAttends,
                               {{0, 1, 0, 1}}});
    return record;
  }

  Replaced spoilt_;
  std::map<std::string, std::string> right_ = rightValues();
};

TEST(StageCheckTest, EveryResultOfARightLayerIsRight) {
  const StageCheck forward = TwoTokens().check(Direction::kForward);
  EXPECT_TRUE(forward.wrong.empty());
  EXPECT_EQ(forward.right, 8) << "a block and a merge at each of two ring steps of two ranks";
  const StageCheck backward = TwoTokens().check(Direction::kBackward);
  EXPECT_TRUE(backward.wrong.empty());
  EXPECT_EQ(backward.right, 4);
  EXPECT_EQ(backward.heads, 1);
  EXPECT_EQ(backward.of_heads, 1);
}

TEST(StageCheckTest, NamesTheRankTheSourceAndThePieceOfTheFirstWrongBlock) {
  const StageCheck check = TwoTokens(Replaced{{"block_out@1.1", "3"}, {"running_lse@0.1", "1"}})
                               .check(Direction::kForward);
  ASSERT_EQ(check.wrong.size(), 2u);
  const WrongStage& block = check.wrong[0];
  EXPECT_EQ(block.kind, TensorKind::kBlockOut) << "the worst first";
  EXPECT_EQ(block.rank, WorldRank::of(1));
  EXPECT_EQ(block.source, WorldRank::of(0));
  EXPECT_EQ(block.ring_step, RingStep::of(1));
  EXPECT_EQ(block.piece, PieceIndex::of(0));
  EXPECT_EQ(block.tokens, (std::vector<TokenRun>{{1, 2}}));
  EXPECT_DOUBLE_EQ(block.worst.error, 1) << "3 for 2";
  EXPECT_EQ(check.wrong[1].kind, TensorKind::kRunningLse);
  EXPECT_EQ(check.wrong[1].rank, WorldRank::of(0));
  EXPECT_EQ(check.right, 4) << "those of ring step 0";
}

TEST(StageCheckTest, AnEarlierRingStepReplacesItsConsequences) {
  const StageCheck check =
      TwoTokens(
          Replaced{{"block_lse@0.0", "0.5"}, {"running_lse@0.0", "0.5"}, {"block_out@1.1", "9"}})
          .check(Direction::kForward);
  ASSERT_EQ(check.wrong.size(), 1u) << "what was merged is what the recorded blocks give";
  EXPECT_EQ(check.wrong[0].kind, TensorKind::kBlockLse);
  EXPECT_EQ(check.wrong[0].ring_step, RingStep::of(0));
  EXPECT_EQ(check.right, 0);
}

TEST(StageCheckTest, NamesTheRankThatAddsTooMuchToASum) {
  const StageCheck check = TwoTokens(Replaced{{"dkv@0.1", "0,1.5"}}).check(Direction::kBackward);
  ASSERT_EQ(check.wrong.size(), 1u);
  EXPECT_EQ(check.wrong[0].kind, TensorKind::kDv);
  EXPECT_EQ(check.wrong[0].rank, WorldRank::of(0));
  EXPECT_EQ(check.wrong[0].source, WorldRank::of(1));
  EXPECT_EQ(check.wrong[0].ring_step, RingStep::of(1));
  EXPECT_DOUBLE_EQ(check.wrong[0].worst.error, 0.5);
  EXPECT_EQ(check.wrong[0].worst.token, TokenIndex::of(1)) << "a key of rank 1";
}

TEST(StageCheckTest, ASumThatArrivesWrongIsNotTheNextRanksMistake) {
  const StageCheck check =
      TwoTokens(Replaced{{"dkv@1.0", "7,0.5"}, {"dkv@0.1", "7,1"}}).check(Direction::kBackward);
  ASSERT_EQ(check.wrong.size(), 1u);
  EXPECT_EQ(check.wrong[0].kind, TensorKind::kDk);
  EXPECT_EQ(check.wrong[0].rank, WorldRank::of(1));
  EXPECT_EQ(check.wrong[0].ring_step, RingStep::of(0));
}

/// Checks a layer whose dS is ½·(v − 4): −1 for the first key and 1 for the second.
StageCheck withDq(const char* first_key, const char* second_key, const char* of_rank_0,
                  const char* of_rank_1) {
  return TwoTokens(
             {{"k@0", first_key}, {"k@1", second_key}, {"dq@0", of_rank_0}, {"dq@1", of_rank_1}})
      .check(Direction::kBackward);
}

TEST(StageCheckTest, NamesTheRingStepThatExplainsAWrongDq) {
  EXPECT_TRUE(withDq("0", "3", "3", "3").wrong.empty());
  const StageCheck check = withDq("0", "3", "6", "3");
  ASSERT_EQ(check.wrong.size(), 1u);
  EXPECT_EQ(check.wrong[0].kind, TensorKind::kDq);
  EXPECT_EQ(check.wrong[0].rank, WorldRank::of(0));
  EXPECT_EQ(check.wrong[0].source, WorldRank::of(1));
  EXPECT_EQ(check.wrong[0].ring_step, RingStep::of(1));
  EXPECT_EQ(check.wrong[0].tokens, (std::vector<TokenRun>{{0, 1}}));
  EXPECT_DOUBLE_EQ(check.wrong[0].times, 2);
  EXPECT_EQ(check.right, 4) << "dK and dV";
}

TEST(StageCheckTest, NamesNoRingStepWhenAnyOfThemExplainsDq) {
  EXPECT_TRUE(withDq("1", "3", "1", "2").wrong.empty());
}

TEST(StageCheckTest, PairsThatARankAttendsOutsideThePlanAreWrong) {
  const std::string events =
      "attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-1 k=0-1 time=0-1\n"
      "attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-1 k=0-0 time=1-2\n"
      "attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-1 k=0-1 time=0-1\n"
      "attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-1 k=0-1 time=1-2\nend\n";
  const StageCheck check = TwoTokens().check(Direction::kForward, events);
  ASSERT_EQ(check.wrong.size(), 1u);
  EXPECT_EQ(check.wrong[0].kind, TensorKind::kOther);
  EXPECT_EQ(check.wrong[0].rank, WorldRank::of(0));
  EXPECT_EQ(check.wrong[0].ring_step, RingStep::of(1));
  EXPECT_NE(check.wrong[0].attended.find("planned are queries 0 × keys 0 (full)"),
            std::string::npos)
      << check.wrong[0].attended;
}

TEST(StageCheckTest, WithoutBlocksSumsOrInputsItSaysWhatIsMissing) {
  Replaced none;
  for (const char* at : {"0.0", "0.1", "1.0", "1.1"})
    for (const char* tensor : {"block_out", "dkv", "running_lse"})
      none[std::string(tensor) + "@" + at] = "absent";
  EXPECT_EQ(TwoTokens(none).check(Direction::kForward).skipped,
            "the values of the blocks are not recorded");
  EXPECT_EQ(TwoTokens(none).check(Direction::kBackward).skipped,
            "the sums of dK and dV are not recorded ring step by ring step");
  EXPECT_NE(
      TwoTokens(Replaced{{"v@1", "absent"}}).check(Direction::kForward).skipped.find("v of rank 1"),
      std::string::npos);
  EXPECT_EQ(TwoTokens(Replaced{{"dout@1", "absent"}}).check(Direction::kBackward).skipped,
            "dout of all ranks is not recorded");
}

TEST(UnknownMistakeTest, IsPlacedAtItsRingStepAndRows) {
  const auto trace = TwoTokens(Replaced{{"block_out@1.1", "3"}, {"out@1", "4.5"}})
                         .record("diff out layer=0 ratio=40 error=0.5\n");
  const auto finding = unknownMistake(Readings(*trace));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rank, WorldRank::of(1));
  EXPECT_EQ(finding->place.stage, RingStep::of(1));
  EXPECT_NE(finding->evidence.find("the first that is wrong is ring step 1: rank 1's block_out of "
                                   "the block of rank 0, piece 0: head 0, token 1, off by up to 1"),
            std::string::npos)
      << finding->evidence;
  EXPECT_NE(finding->evidence.find("4 results of the ring steps before are right"),
            std::string::npos)
      << finding->evidence;
}

TEST(UnknownMistakeTest, BlamesTheMergeWhenEveryBlockIsRight) {
  const auto finding = unknownMistake(
      Readings(*TwoTokens(Replaced{{"out@1", "4.5"}}).record("diff out layer=0 ratio=40\n")));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->place.stage.isNone());
  EXPECT_NE(finding->evidence.find("all 8 results that are recorded are right: what is left is "
                                   "how out is merged from the blocks"),
            std::string::npos)
      << finding->evidence;
}

}  // namespace
}  // namespace ringscope::traces
