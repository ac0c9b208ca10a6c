// SPDX-License-Identifier: Apache-2.0
// Every rule in a recording in which it finds a mistake, in one in which it is clear, and in one in
// which it cannot tell.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"
#include "traces/format/trace/ending.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;

/// Two ranks of a ring with two tokens each and one head of width 1. A row has one block for each
/// rank up to its own. Weights are exp(block_lse − lse).
constexpr const char* kTwoBlocks = R"(
  run cp=2 mask=full seq_len=2
  group cp 0,1
  shard q rank=0 dim=2 tokens=0-1
  shard q rank=1 dim=2 tokens=1-2
  tensor lse rank=0 layer=0 shape=1x1x1 values=0.6931471805599453
  tensor lse rank=1 layer=0 shape=1x1x1 values=0.6931471805599453
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-1 k=0-1
  attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-1 k=0-1
  attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-1 k=0-1
  attend rank=1 layer=0 stage=1 source=0 piece=0 q=0-1 k=0-1
  tensor block_out rank=0 layer=0 stage=0 source=0 piece=0 shape=1x1x1x1 values=2
  tensor block_lse rank=0 layer=0 stage=0 source=0 piece=0 shape=1x1x1 values=0
  tensor block_out rank=0 layer=0 stage=1 source=1 piece=0 shape=1x1x1x1 values=4
  tensor block_lse rank=0 layer=0 stage=1 source=1 piece=0 shape=1x1x1 values=0
  tensor block_out rank=1 layer=0 stage=0 source=1 piece=0 shape=1x1x1x1 values=4
  tensor block_lse rank=1 layer=0 stage=0 source=1 piece=0 shape=1x1x1 values=0
  tensor block_out rank=1 layer=0 stage=1 source=0 piece=0 shape=1x1x1x1 values=2
  tensor block_lse rank=1 layer=0 stage=1 source=0 piece=0 shape=1x1x1 values=0
)";

std::string withOut(const char* of_rank_0, const char* of_rank_1) {
  return std::string(kTwoBlocks) + "tensor out rank=0 layer=0 shape=1x1x1x1 values=" + of_rank_0 +
         "\ntensor out rank=1 layer=0 shape=1x1x1x1 values=" + of_rank_1 + "\n";
}

TEST(NaiveSumMergeRuleTest, DistinguishesThePlainSumFromTheWeightedOne) {
  const auto wrong = answerFrom("naive_sum_merge", withOut("3", "6"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(1));
  EXPECT_EQ(wrong.findings.front().place.layer, Layer::of(0));
  EXPECT_EQ(answerFrom("naive_sum_merge", withOut("3", "3")).verdict, Verdict::kClear);
  EXPECT_EQ(answerFrom("naive_sum_merge", kTwoBlocks).verdict, Verdict::kNotObservable);
  EXPECT_EQ(answerFrom("naive_sum_merge", "run cp=1\nend\n").verdict, Verdict::kClear)
      << "nothing to merge";
}

TEST(DiagnosisTest, AFindingNamesItsRanksAndExplainsItsConfidence) {
  const Diagnosis diagnosis = diagnose(*test::makeTrace(withOut("3", "6")));
  const std::string text = toText(diagnosis);
  EXPECT_NE(text.find(" · rank 1 · cp group 0, 1"), std::string::npos) << text;
  EXPECT_NE(text.find("certain: nothing else explains what was recorded\n"), std::string::npos)
      << text;
  const auto finding = toJson(diagnosis).at("findings").at(0);
  EXPECT_EQ(finding.at("group"), nlohmann::json::parse("[0, 1]"));
  EXPECT_EQ(finding.at("confidence_means"), "nothing else explains what was recorded");
  EXPECT_EQ(
      toText(diagnose(*test::makeTrace(withOut("3", "3")))).find("explains what was recorded"),
      std::string::npos)
      << "there is nothing to explain";
}

/// Returns kTwoBlocks with logits of a sink that takes half of each row, so that lse grows by ln 2.
std::string withSink(const char* of_rank_0, const char* of_rank_1) {
  std::string text = withOut(of_rank_0, of_rank_1);
  const std::string lse = "0.6931471805599453", with_sink = "1.3862943611198906";
  for (auto at = text.find(lse); at != std::string::npos; at = text.find(lse))
    text.replace(at, lse.size(), with_sink);
  return text;
}

TEST(NaiveSumMergeRuleTest, FindsAPlainSumDespiteAnAttentionSink) {
  EXPECT_EQ(answerFrom("naive_sum_merge", withSink("3", "3")).verdict, Verdict::kFound);
  EXPECT_EQ(answerFrom("naive_sum_merge", withSink("1.5", "1.5")).verdict, Verdict::kClear);
}

TEST(NaiveSumMergeRuleTest, DistinguishesASumThatIsOffByATenthOfAPercent) {
  // The second block has nearly no weight in any row, and the sum is nearly the same.
  const std::string text = R"(
    run cp=1 mask=documents seq_len=1
    shard q rank=0 dim=2 tokens=0-1
    tensor lse rank=0 layer=0 shape=1x1x1 values=0
    attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-1 k=0-1
    attend rank=0 layer=0 stage=0 source=0 piece=1 q=0-1 k=1-2
    tensor block_out rank=0 layer=0 stage=0 source=0 piece=0 shape=1x1x1x1 values=1
    tensor block_lse rank=0 layer=0 stage=0 source=0 piece=0 shape=1x1x1 values=0
    tensor block_out rank=0 layer=0 stage=0 source=0 piece=1 shape=1x1x1x1 values=0.001
    tensor block_lse rank=0 layer=0 stage=0 source=0 piece=1 shape=1x1x1 values=-60
  )";
  const std::string right = text + "tensor out rank=0 layer=0 shape=1x1x1x1 values=1\nend\n",
                    wrong = text + "tensor out rank=0 layer=0 shape=1x1x1x1 values=1.001\nend\n";
  EXPECT_EQ(answerFrom("naive_sum_merge", right).verdict, Verdict::kClear);
  EXPECT_EQ(answerFrom("naive_sum_merge", wrong).verdict, Verdict::kFound)
      << "one rank merges the pieces of a row too";
}

TEST(NaiveSumMergeRuleTest, BlocksThatGiveOutByNeitherSumProveNothing) {
  const auto neither = answerFrom("naive_sum_merge", withOut("5", "5"));
  ASSERT_EQ(neither.verdict, Verdict::kNotObservable);
  EXPECT_NE(neither.would_settle.find("by neither"), std::string::npos) << neither.would_settle;
}

TEST(NaiveSumMergeRuleTest, OneRankWithoutBlocksIsClearOnlyIfNoRowHasTwoPieces) {
  const std::string pieces = "run cp=1\nattend rank=0 layer=0 stage=0 source=0 piece=0 q=0-2\n";
  EXPECT_EQ(answerFrom("naive_sum_merge",
                       pieces + "attend rank=0 layer=0 stage=0 source=0 piece=1 q=2-4\nend\n")
                .verdict,
            Verdict::kClear);
  EXPECT_EQ(answerFrom("naive_sum_merge",
                       pieces + "attend rank=0 layer=0 stage=0 source=0 piece=1 q=0-2\nend\n")
                .verdict,
            Verdict::kNotObservable);
}

TEST(NaiveSumMergeRuleTest, ABlockOfAnotherSizeThanItsRowsIsNoEvidence) {
  for (const char* block : {"shape=1x1x2x1 values=2,2", "shape=2x1x1x1 values=2,2",
                            "shape=1x2x1x1 values=2,2", "shape=1x1x1x2 values=2,2"}) {
    std::string text = withOut("3", "6");
    const std::string whole = "shape=1x1x1x1 values=2";
    text.replace(text.find(whole), whole.size(), block);
    EXPECT_EQ(answerFrom("naive_sum_merge", text).verdict, Verdict::kNotObservable) << block;
  }
}

TEST(MissingPositionIdsRuleTest, ComparesPositionsWithTheTokensThatARankOwns) {
  const std::string shards =
      "run cp=2 seq_len=4\nintent positions=whole_sequence\n"
      "shard input_ids rank=0 tokens=0-2\nshard input_ids rank=1 tokens=2-4\n"
      "tensor position_ids rank=0 shape=1x2 values=0,1\n";
  const auto wrong = answerFrom("missing_position_ids",
                                shards + "tensor position_ids rank=1 shape=1x2 values=0,1\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(1));
  EXPECT_EQ(answerFrom("missing_position_ids",
                       shards + "tensor position_ids rank=1 shape=1x2 values=2,3\n")
                .verdict,
            Verdict::kClear);
  EXPECT_EQ(answerFrom("missing_position_ids", "run cp=2\n").verdict, Verdict::kNotObservable);
}

TEST(MissingPositionIdsRuleTest, IdsThatAreNeitherGlobalNorLocalAreSomethingElse) {
  const auto answer = answerFrom(
      "missing_position_ids",
      "run cp=2 seq_len=4\nintent positions=whole_sequence\nshard input_ids rank=1 tokens=2-4\n"
      "tensor position_ids rank=1 shape=1x2 values=3,4\n");
  ASSERT_EQ(answer.verdict, Verdict::kNotObservable);
  EXPECT_NE(answer.would_settle.find("2 of 2 are neither"), std::string::npos)
      << answer.would_settle;
}

TEST(MissingPositionIdsRuleTest, PackedDocumentsCountFromTheirOwnStarts) {
  const std::string packed =
      "run cp=2 seq_len=8 mask=documents\n"
      "intent mask=documents documents=0-6,6-8 positions=each_document\n"
      "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n"
      "tensor position_ids rank=0 shape=1x4 values=0,1,2,3\n";
  EXPECT_EQ(answerFrom("missing_position_ids",
                       packed + "tensor position_ids rank=1 shape=1x4 values=4,5,0,1\n")
                .verdict,
            Verdict::kClear);
  const auto wrong = answerFrom("missing_position_ids",
                                packed + "tensor position_ids rank=1 shape=1x4 values=0,1,2,3\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound) << "restarting on the rank is wrong here too";
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(1));
}

TEST(MissingPositionIdsRuleTest, ARankFileWithoutTheDeclarationProvesNothing) {
  const std::string of_rank_1 =
      "shard input_ids rank=1 tokens=4-8\ntensor position_ids rank=1 shape=1x4 values=0,1,2,3\n";
  EXPECT_EQ(
      answerFrom("missing_position_ids", "run cp=2 seq_len=8 mask=documents\n" + of_rank_1).verdict,
      Verdict::kNotObservable)
      << "a document may begin there";
  EXPECT_EQ(
      answerFrom("missing_position_ids", "run cp=2 seq_len=8 mask=causal\n" + of_rank_1).verdict,
      Verdict::kFound);
}

TEST(MissingCpGradReduceRuleTest, WithoutItsGroupsARunWithTensorParallelismProvesNothing) {
  const std::string slices =
      "tensor grad.w rank=0 hash=7\ntensor grad.w rank=2 hash=9\n";  // tp ranks 0 and 1
  EXPECT_EQ(answerFrom("missing_cp_grad_reduce", "run tp=2 cp=2\n" + slices).verdict,
            Verdict::kNotObservable);
  EXPECT_EQ(answerFrom("missing_cp_grad_reduce", "run cp=3\n" + slices).verdict, Verdict::kFound);
}

TEST(MissingCpGradReduceRuleTest, ComparesGradientsOfRanksThatHoldTheSameSlice) {
  const std::string gradients =
      "run dp=1 tp=2 cp=2\n"
      "group dp_cp 0,1\ngroup dp_cp 2,3\n"
      "tensor grad.w rank=0 hash=7\ntensor grad.w rank=2 hash=9\ntensor grad.w rank=3 hash=9\n";
  const auto wrong =
      answerFrom("missing_cp_grad_reduce", gradients + "tensor grad.w rank=1 hash=8\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(1));
  EXPECT_EQ(
      answerFrom("missing_cp_grad_reduce", gradients + "tensor grad.w rank=1 hash=7\n").verdict,
      Verdict::kClear)
      << "tp ranks hold other slices";
  EXPECT_EQ(answerFrom("missing_cp_grad_reduce", "run cp=2\n").verdict, Verdict::kNotObservable);
}

TEST(MissingCpGradReduceRuleTest, SaysWhetherGradientsWereReducedOverOtherRanks) {
  const std::string drift =
      "run dp=2 tp=2 cp=2\ngroup dp 0,4\ngroup tp 0,2\ngroup dp_cp 0,1\n"
      "tensor grad.w rank=0 hash=1\ntensor grad.w rank=1 hash=2\n";
  const auto evidence = [&](const std::string& event) {
    return answerFrom("missing_cp_grad_reduce", drift + event).findings.at(0).evidence;
  };
  const std::string over = "a reduction of gradients was recorded, but not over these ranks";
  EXPECT_EQ(evidence("").find(over), std::string::npos);
  EXPECT_NE(evidence("collective rank=0 group=0 payload=grads bytes=8\n").find(over),
            std::string::npos);
  EXPECT_NE(evidence("grad_sync rank=0 payload=grads bytes=8\n").find(over), std::string::npos);
  EXPECT_EQ(evidence("collective rank=0 group=1 payload=grads bytes=8\n").find(over),
            std::string::npos)
      << "tp ranks add up what they hold alike";
  EXPECT_EQ(evidence("grad_sync rank=0 payload=grads bytes=0\n").find(over), std::string::npos);
}

TEST(MissingCpGradReduceRuleTest, SaysThatOtherGradientsWereSummed) {
  const auto answer = answerFrom(
      "missing_cp_grad_reduce",
      "run cp=2\ngroup cp 0,1\ntensor grad.a rank=0 hash=1\ntensor grad.a rank=1 hash=2\n"
      "tensor grad.b rank=0 hash=3\ntensor grad.b rank=1 hash=3\n"
      "collective rank=0 group=0 payload=grads bytes=8\n");
  EXPECT_NE(answer.findings.at(0).evidence.find("those of other parameters agree"),
            std::string::npos);
}

TEST(MissingCpGradReduceRuleTest, EqualGradientsWithoutASumOverCpProveNothing) {
  const std::string equal =
      "run dp=2 cp=2\ngroup dp 0,2\ngroup dp_cp 0,1,2,3\nattend rank=0 layer=0\n"
      "tensor grad.w rank=0 hash=7\ntensor grad.w rank=1 hash=7\n";
  const auto verdict = [&](const std::string& event) {
    return answerFrom("missing_cp_grad_reduce", equal + event).verdict;
  };
  EXPECT_EQ(verdict(""), Verdict::kNotObservable) << "both ranks had the same tokens";
  EXPECT_EQ(verdict("collective rank=0 group=0 payload=grads bytes=8\n"), Verdict::kNotObservable)
      << "over dp alone";
  EXPECT_EQ(verdict("collective rank=0 group=1 payload=grads bytes=8\n"), Verdict::kClear);
  EXPECT_EQ(verdict("grad_sync rank=0 payload=grads bytes=8\n"), Verdict::kClear);
}

TEST(MissingCpGradReduceRuleTest, AReductionThatIsDroppedInALaterStepIsFoundThere) {
  const auto wrong =
      answerFrom("missing_cp_grad_reduce",
                 "run cp=2\n"
                 "tensor grad.w step=0 rank=0 hash=7\ntensor grad.w step=0 rank=1 hash=7\n"
                 "tensor grad.w step=5 rank=0 hash=1\ntensor grad.w step=5 rank=1 hash=2\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().place.train_step, 5);
}

TEST(DoctorReportTest, AFailedRunIsReportedWithItsReasonNotAsADamagedFile) {
  const std::string text = "run cp=2\ntensor q rank=0 layer=0 values=1\nend\n";
  const auto trace = test::makeTrace(text);
  EXPECT_TRUE(isWithoutFinding(diagnose(*trace)));
  trace->add(Note{kEndedNote, endedNote({HowEnded::kFailed, "rank 1 died"})});
  trace->addFirstProblem("the run failed: rank 1 died");  // as the reader of a file adds it
  const Diagnosis diagnosis = diagnose(*trace);
  EXPECT_TRUE(diagnosis.unread.empty());
  EXPECT_FALSE(isWithoutFinding(diagnosis));
  EXPECT_EQ(headline(diagnosis),
            "– Nothing found in what could be read: the run failed: rank 1 died");
  EXPECT_EQ(toJson(diagnosis)["failure"], "the run failed: rank 1 died");
}

TEST(NanFromOneRankRuleTest, NamesTheFirstValueThatIsNotFinite) {
  const std::string right = "run cp=2\ntensor q rank=0 layer=0 values=1\n";
  const auto wrong =
      answerFrom("nan_from_one_rank",
                 right + "tensor out rank=1 layer=1 nan=2\ntensor k rank=1 layer=0 nan=1\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().buffer, "k");
  EXPECT_EQ(wrong.findings.front().rank, WorldRank::of(1));
  const std::string everywhere =  // recorded in no order: the content of a block reaches every
                                  // result
      "tensor logits rank=0 nan=9\ntensor loss.sum rank=0 nan=1\n"
      "tensor error.abs.out rank=0 layer=0 nan=8\ntensor error.abs.logits rank=0 nan=8\n"
      "tensor out rank=1 layer=0 nan=8\ntensor q rank=0 layer=1 nan=8\n"
      "tensor running_lse rank=1 layer=0 stage=0 nan=1\n"
      "tensor block_out rank=1 layer=0 stage=0 source=1 piece=0 nan=4\n";
  const auto first = answerFrom("nan_from_one_rank", right + everywhere);
  ASSERT_EQ(first.verdict, Verdict::kFound);
  EXPECT_EQ(first.findings.front().buffer, "block_out");
  EXPECT_EQ(first.findings.front().rank, WorldRank::of(1));
  EXPECT_EQ(answerFrom("nan_from_one_rank", right + "tensor lse rank=0 layer=0 inf=2\n").verdict,
            Verdict::kClear)
      << "a row without a key has lse −inf by right";
  EXPECT_EQ(answerFrom("nan_from_one_rank", "run cp=2\n").verdict, Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
