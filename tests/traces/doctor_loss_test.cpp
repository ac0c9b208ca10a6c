// SPDX-License-Identifier: Apache-2.0
// The rules about the loss and about cos and sin, and the choice of the cause among two findings.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::foundAlone;

constexpr const char* kLossRules[] = {"mean_of_local_means", "loss_scaled_by_cp",
                                      "metric_not_reduced", "rank_without_targets"};

/// Returns rank 0 with 3 targets of 2 each, and rank 1 with `targets` targets whose sum is `sum`.
std::string lossesWith(const char* targets, const char* sum, const char* logged) {
  return std::string("run cp=2\nintent loss=mean_over_targets\ngroup cp 0,1\n") +
         "tensor loss.sum rank=0 shape=1 values=6\ntensor loss.targets rank=0 shape=1 values=3\n"
         "tensor loss.sum rank=1 shape=1 values=" +
         sum + "\ntensor loss.targets rank=1 shape=1 values=" + targets +
         "\nnote step.0 {\"loss\": " + logged + "}\n";
}

TEST(LossRulesTest, TheLoggedLossShowsHowItWasReduced) {
  for (const char* rule : kLossRules) {
    EXPECT_EQ(findVerdict(rule, lossesWith("1", "6", "3")), Verdict::kClear) << rule;
    EXPECT_EQ(findVerdict(rule, lossesWith("1", "6", "3.0000001")), Verdict::kClear) << "rounding";
    EXPECT_EQ(findVerdict(rule, lossesWith("1", "6", "3.1")), Verdict::kNotObservable) << rule;
    EXPECT_EQ(findVerdict(rule, "run cp=2\n"), Verdict::kNotObservable) << rule;
  }
  foundAlone(kLossRules, "mean_of_local_means", lossesWith("1", "6", "4"));
  foundAlone(kLossRules, "loss_scaled_by_cp", lossesWith("1", "8", "7"));
  foundAlone(kLossRules, "loss_scaled_by_cp", lossesWith("1", "8", "1.75"));
  foundAlone(kLossRules, "metric_not_reduced", lossesWith("1", "6", "2"));
  foundAlone(kLossRules, "metric_not_reduced", lossesWith("1", "8", "8"));
  foundAlone(kLossRules, "rank_without_targets", lossesWith("0", "0", "null"));
}

TEST(LossRulesTest, LossesThatAreEqualByChanceDoNotTellHowTheyWereSummed) {
  const std::string equal = lossesWith("1", "2", "2");
  for (const char* rule : {"mean_of_local_means", "metric_not_reduced"}) {
    const auto answer = answerFrom(rule, equal);
    EXPECT_EQ(answer.verdict, Verdict::kNotObservable) << rule;
    EXPECT_NE(answer.would_settle.find("a training step in which the ranks' losses differ"),
              std::string::npos)
        << answer.would_settle;
  }
  EXPECT_EQ(findVerdict("loss_scaled_by_cp", equal), Verdict::kClear);
  const std::string next =
      "tensor loss.sum rank=0 step=1 shape=1 values=6\n"
      "tensor loss.targets rank=0 step=1 shape=1 values=3\n"
      "tensor loss.sum rank=1 step=1 shape=1 values=6\n"
      "tensor loss.targets rank=1 step=1 shape=1 values=1\nnote step.1 {\"loss\": 3}\n";
  for (const char* rule : kLossRules)
    EXPECT_EQ(findVerdict(rule, equal + next), Verdict::kClear) << rule << ": another step tells";
  std::string alike = equal + next;  // means over equal numbers of targets prove nothing
  alike.replace(alike.find("step=1 shape=1 values=1\n"), 24, "step=1 shape=1 values=3\n");
  alike.replace(alike.find("{\"loss\": 3}"), 11, "{\"loss\": 2}");
  EXPECT_EQ(findVerdict("mean_of_local_means", alike), Verdict::kNotObservable);
}

TEST(LossRulesTest, ALossRoundedForDisplayGivesNoFinding) {
  for (const char* rule : kLossRules)
    EXPECT_NE(findVerdict(rule, lossesWith("1", "1.00005", "1.75")), Verdict::kFound) << rule;
}

TEST(LossRulesTest, TheMeanOfMeansIsRightWithEqualNumbersOfTargets) {
  EXPECT_EQ(findVerdict("mean_of_local_means", lossesWith("3", "12", "3")), Verdict::kClear);
}

TEST(LossRulesTest, ARankWithoutTargetsIsFineWhereTheLossIsFinite) {
  std::string three = lossesWith("1", "6", "3");
  three.replace(three.find("cp=2"), 4, "cp=3");
  three.replace(three.find("cp 0,1"), 6, "cp 0,1,2");
  three += "tensor loss.sum rank=2 shape=1 values=0\ntensor loss.targets rank=2 shape=1 values=0\n";
  for (const char* rule : kLossRules) EXPECT_EQ(findVerdict(rule, three), Verdict::kClear) << rule;
}

/// That rank's own mean is the loss over all targets. Nobody can tell which of the two was logged,
/// or whether the loss of all ranks would have been lost.
TEST(LossRulesTest, TheLossOfARankWithAllTargetsIsRight) {
  const std::string text = lossesWith("0", "0", "2");
  for (const char* rule : {"metric_not_reduced", "rank_without_targets"})
    EXPECT_EQ(findVerdict(rule, text), Verdict::kNotObservable) << rule;
  for (const char* rule : {"mean_of_local_means", "loss_scaled_by_cp"})
    EXPECT_EQ(findVerdict(rule, text), Verdict::kClear) << rule;
}

TEST(LossRulesTest, ARightStepDoesNotExcuseAWrongOne) {
  const auto step = [](const char* n, const char* logged) {
    std::string text = lossesWith("1", "6", logged);
    text = text.substr(text.find("tensor"));
    for (std::size_t at = 0; (at = text.find(" shape", at)) != std::string::npos; at += 12)
      text.insert(at, std::string(" step=") + n);
    return text.replace(text.find("step.0"), 6, std::string("step.") + n);
  };
  const std::string mesh = "run cp=2\nintent loss=mean_over_targets\ngroup cp 0,1\n";
  for (const auto& [first, second] : {std::pair("3.4", "3"), std::pair("3", "3.4")})
    EXPECT_EQ(findVerdict("metric_not_reduced", mesh + step("0", first) + step("1", second)),
              Verdict::kNotObservable)
        << first << " before " << second;
}

TEST(LossRulesTest, ALossLostElsewhereIsNotBlamedOnRanksWithoutTargets) {
  EXPECT_EQ(findVerdict("rank_without_targets", lossesWith("1", "6", "null")),
            Verdict::kNotObservable);
  std::string text = lossesWith("0", "0", "null");
  text.replace(text.find("values=6"), 8, "nan=1   ");
  EXPECT_EQ(findVerdict("rank_without_targets", text), Verdict::kNotObservable)
      << "the sum of rank 0 is not finite either";
}

TEST(LossRulesTest, AStepOfWhichNotAllRanksAreKnownProvesNothing) {
  std::string text = lossesWith("1", "6", "4");
  text.replace(text.find("cp=2"), 4, "cp=3");
  for (const char* rule : kLossRules)
    EXPECT_EQ(findVerdict(rule, text), Verdict::kNotObservable) << rule;
}

TEST(LossRulesTest, LogitsAndLabelsTellTheLossOfARankThatDidNotRecordIt) {
  const std::string text =
      "run cp=2\nintent loss=mean_over_targets\ngroup cp 0,1\n"
      "tensor logits rank=0 shape=1x2x2 values=0,0,7,7\n"
      "tensor buffer.labels rank=0 shape=1x2 values=1,-100\n"
      "tensor logits rank=1 shape=1x2x2 values=1.0986122886681098,0,1.0986122886681098,0\n"
      "tensor buffer.labels rank=1 shape=1x2 values=1,1\nnote step.0 {\"loss\": ";
  const auto logged = [&](double loss) { return text + nlohmann::json(loss).dump() + "}\n"; };
  foundAlone(kLossRules, "mean_of_local_means", logged((std::log(2.0) + std::log(4.0)) / 2));
  EXPECT_EQ(findVerdict("mean_of_local_means", logged((std::log(2.0) + 2 * std::log(4.0)) / 3)),
            Verdict::kClear);
}

// -------- cos and sin

/// Returns rows of a table of one frequency for `positions` of a rank.
std::string table(int rank, const std::vector<int>& positions, const std::vector<int>& rows,
                  bool values = true, int microbatch = 0) {
  std::string ids, cos, sin;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* comma = i ? "," : "";
    ids += comma + std::to_string(positions[i]);
    cos += comma + std::to_string(std::cos(0.3 * rows[i]));
    sin += comma + std::to_string(std::sin(0.3 * rows[i]));
  }
  const std::string count = std::to_string(rows.size()),
                    of = " rank=" + std::to_string(rank) +
                         " microbatch=" + std::to_string(microbatch);
  const auto tensor = [&](const char* kind, const std::string& list) {
    const std::string stats =
        " min=-1 max=1 hash=" + std::to_string(std::hash<std::string>()(list) >> 2);
    return std::string("tensor ") + kind + of + " shape=1x" + count + "x1" +
           (values ? " values=" + list : stats) + "\n";
  };
  return "tensor position_ids" + of + " shape=1x" + count + " values=" + ids + "\n" +
         tensor("cos", cos) + tensor("sin", sin);
}

TEST(MissingRopeBufferRuleTest, RowsBelongToThePositionsOfTheTokens) {
  const std::string first = "run cp=2\n" + table(0, {0, 1, 6, 7}, {0, 1, 6, 7});
  EXPECT_EQ(findVerdict("missing_rope_buffer", first + table(1, {2, 3, 4, 5}, {2, 3, 4, 5})),
            Verdict::kClear);
  const auto own = answerFrom("missing_rope_buffer", "run cp=2\n" + table(0, {0, 1, 2}, {0, 1, 2}) +
                                                         table(1, {3, 4, 5}, {0, 1, 2}));
  ASSERT_EQ(own.verdict, Verdict::kFound);
  EXPECT_EQ(own.findings.front().rank, WorldRank::of(1));
  const auto other =
      answerFrom("missing_rope_buffer", first + table(1, {2, 3, 4, 5}, {4, 5, 6, 7}));
  ASSERT_EQ(other.verdict, Verdict::kFound) << "cut by another balance";
  EXPECT_EQ(findVerdict("missing_rope_buffer", "run cp=2\n"), Verdict::kNotObservable);
}

TEST(MissingRopeBufferRuleTest, PositionsOfThreeAxesAreNotThoseOfRows) {
  std::string text = "run cp=2\n" + table(0, {0, 1, 1}, {0, 1, 2});
  const std::string of_rows = "shape=1x3 values=0,1,1";
  text.replace(text.find(of_rows), of_rows.size(), "shape=3x1x3 values=0,1,1,0,1,1,0,1,2");
  EXPECT_EQ(findVerdict("missing_rope_buffer", text), Verdict::kNotObservable);
}

TEST(MissingRopeBufferRuleTest, EachMicrobatchHasItsOwnTable) {
  const std::string first = "run cp=1\n" + table(0, {0, 1}, {0, 1}, false);
  EXPECT_EQ(findVerdict("missing_rope_buffer", first + table(0, {2, 3}, {2, 3}, false, 1)),
            Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("missing_rope_buffer", first + table(0, {2, 3}, {0, 1}, false, 1)),
            Verdict::kFound);
}

TEST(MissingRopeBufferRuleTest, APositionHasOneRow) {
  const std::string run = "run cp=1\n";
  EXPECT_EQ(findVerdict("missing_rope_buffer", run + table(0, {0, 1, 2, 0, 1}, {0, 1, 2, 0, 1})),
            Verdict::kClear);
  EXPECT_EQ(findVerdict("missing_rope_buffer", run + table(0, {0, 1, 2, 0, 1}, {0, 1, 2, 3, 4})),
            Verdict::kFound);
}

TEST(MissingRopeBufferRuleTest, HashesCanProveTheMistakeButNotItsAbsence) {
  EXPECT_EQ(findVerdict("missing_rope_buffer", "run cp=2\n" + table(0, {0, 1}, {0, 1}, false) +
                                                   table(1, {2, 3}, {0, 1}, false)),
            Verdict::kFound);
  EXPECT_EQ(findVerdict("missing_rope_buffer", "run cp=2\n" + table(0, {0, 1}, {0, 1}, false) +
                                                   table(1, {2, 3}, {2, 3}, false)),
            Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("missing_rope_buffer", "run dp=2\n" + table(0, {0, 1}, {0, 1}, false) +
                                                   table(1, {0, 1}, {0, 1}, false)),
            Verdict::kNotObservable)
      << "dp ranks have the same by right";
}

// -------- one cause, one finding

TEST(CauseTest, TheFirstMistakeReplacesItsConsequences) {
  const std::string packed =
      "run cp=1 seq_len=8 mask=documents\n"
      "intent mask=documents documents=0-6,6-8 positions=each_document\n"
      "shard input_ids rank=0 tokens=0-8\nshard position_ids rank=0 tokens=0-8\n"
      "tensor position_ids rank=0 shape=1x8 values=0,1,2,3,4,5,6,7\n";
  EXPECT_EQ(findVerdict("missing_position_ids", packed), Verdict::kFound) << "by itself";
  const auto findings = diagnose(*test::makeTrace(packed)).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().rule, "positions_not_reset_per_document");
}

TEST(CauseTest, NansFromALostLossAreNotBlamedOnAnotherRank) {
  const std::string lost = lossesWith("0", "0", "null");
  EXPECT_EQ(findVerdict("nan_from_one_rank", lost + "tensor grad.w rank=1 nan=1\n"),
            Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("nan_from_one_rank", lost + "tensor q step=1 layer=0 rank=1 nan=1\n"),
            Verdict::kNotObservable);
  EXPECT_EQ(findVerdict("nan_from_one_rank", lost + "tensor q layer=0 rank=1 nan=1\n"),
            Verdict::kFound)
      << "it was there before";
}

TEST(CauseTest, AnErrorBeforeTheGradientsIsNotBlamedOnThem) {
  const std::string drift =
      "run cp=2\ntensor grad.w rank=0 hash=1\ntensor grad.w rank=1 hash=2\n"
      "diff grad.w direction=backward isolated=no ratio=5\n";
  const auto alone = diagnose(*test::makeTrace(drift)).findings();
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].rule, "missing_cp_grad_reduce");
  const auto after =
      diagnose(
          *test::makeTrace(drift + "diff dout layer=1 direction=backward isolated=no ratio=9\n"))
          .findings();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].rule, kUnknownMistake);
  EXPECT_EQ(after[0].buffer, "dout");
}

TEST(CauseTest, TwoMistakesThatDoNotExplainEachOtherAreBothSaid) {
  const auto findings = diagnose(*test::makeTrace("run cp=2\nintent mask=full balance=head_tail\n"
                                                  "tensor grad.w rank=0 hash=1\n"
                                                  "tensor grad.w rank=1 hash=2\n"))
                            .findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "balance_without_causal");
  EXPECT_EQ(findings[1].rule, "missing_cp_grad_reduce");
}

TEST(CauseTest, CausesComeBeforeTheirEffectsAndAreNoneOfEachOther) {
  std::map<std::string, std::size_t> place;
  for (const Rule& rule : rules()) place.emplace(rule.id, place.size());
  for (const Mistake& mistake : mistakeCatalogue())
    for (const std::string& effect : mistake.also_trips) {
      ASSERT_TRUE(place.contains(mistake.id) && place.contains(effect)) << mistake.id << effect;
      EXPECT_LT(place.at(mistake.id), place.at(effect));
    }
}

}  // namespace
}  // namespace ringscope::traces
