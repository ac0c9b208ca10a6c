// SPDX-License-Identifier: Apache-2.0
// The effect of mistakes on the numbers of a training step, compared with the logged numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/recorded_head.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/step_check.h"
#include "traces/analysis/verify/trace_check.h"

namespace ringscope::traces {
namespace {

using test::kMeanLoss;
using test::makeTrace;

template <typename Loss>
std::string twoRanks(const Loss& loss) {
  return test::lossesOfTwoRanks(test::loggedLoss(loss));
}
const double kTwo = std::log(2.0), kFour = std::log(4.0);
const double kMeanOfMeans = (kTwo + kFour) / 2;

/// Expects that this mistake, and no other, reproduces the loss.
void expectExplained(const StepCheck& check, const std::string& mistake) {
  ASSERT_FALSE(check.loss.hypotheses.empty()) << toText(check);
  for (const NumberHypothesis& tried : check.loss.hypotheses)
    EXPECT_EQ(tried.reproduces(), tried.mistake == mistake) << toText(check);
}

TEST(VerifyStepTest, ALossThatIsRightIsNotExplained) {
  const StepCheck check = checkStep(*makeTrace(twoRanks(kMeanLoss)), 0);
  EXPECT_TRUE(check.right());
  EXPECT_TRUE(check.loss.hypotheses.empty());
  EXPECT_EQ(toText(check).find("excluded"), std::string::npos);
}

TEST(VerifyStepTest, AWrongLossIsWhatItsMistakeGives) {
  expectExplained(checkStep(*makeTrace(twoRanks(kMeanOfMeans)), 0), "mean_of_local_means");
}

TEST(VerifyStepTest, DistinguishesALossTimesCpFromOneDividedByCp) {
  for (const auto& [factor, how] : {std::pair(2.0, "times cp"), std::pair(0.5, "divided by cp")}) {
    const StepCheck check = checkStep(*makeTrace(twoRanks(factor * kMeanLoss)), 0);
    expectExplained(check, "loss_scaled_by_cp");
    EXPECT_EQ(check.loss.hypotheses.front().how, how);
  }
}

TEST(VerifyStepTest, NamesTheRankWhoseLossWasLogged) {
  for (const auto& [loss, how] : {std::pair(kTwo, "of rank 0"), std::pair(kFour, "of rank 1")}) {
    const StepCheck check = checkStep(*makeTrace(twoRanks(loss)), 0);
    expectExplained(check, "metric_not_reduced");
    EXPECT_EQ(check.loss.hypotheses.front().how, how);
  }
}

TEST(VerifyStepTest, ALossThatIsNotFiniteIsThatOfARankWithoutTargets) {
  std::string text = twoRanks("null");
  text.replace(text.find("values=1,-100"), 13, "values=-100,-100");
  const StepCheck check = checkStep(*makeTrace(text), 0);
  EXPECT_TRUE(check.loss.isWrong());
  EXPECT_EQ(toJson(check).at("loss").at("logged"), nullptr);
  for (const NumberHypothesis& tried : check.loss.hypotheses)
    EXPECT_EQ(tried.reproduces(), std::isnan(tried.gives.value)) << toText(check);
  EXPECT_NE(toText(check).find("= it is what `rank_without_targets` (of rank 0) gives: NaN"),
            std::string::npos)
      << toText(check);
  const StepCheck all_have = checkStep(*makeTrace(twoRanks("null")), 0);
  EXPECT_TRUE(all_have.loss.isWrong());
  EXPECT_NE(toText(all_have).find("= no mistake that was tried gives it"), std::string::npos);
}

TEST(VerifyStepTest, ALossOfLogitsThatAreNotFiniteIsNotCompared) {
  std::string text = twoRanks("null");
  text.replace(text.find("values=0,0,7,7"), 14, "values=nan,0,7,7");
  EXPECT_EQ(checkStep(*makeTrace(text), 0).loss.skipped,
            "the loss that the run logged is not finite, and neither is what it is made of");
}

/// Returns the mistakes that reproduce the gradients of the second step of two ranks.
std::vector<std::string> gradientIs(const test::Head& head, const std::string& more = "") {
  const StepCheck check = checkStep(*makeTrace(head.text() + more), 1);
  EXPECT_EQ(check.gradient.skipped, "");
  std::vector<std::string> names;
  for (const NumberHypothesis& tried : check.gradient.hypotheses)
    if (tried.reproduces()) names.push_back(tried.mistake + tried.how);
  return names;
}
using Names = std::vector<std::string>;

TEST(VerifyStepTest, AGradientThatIsRightIsNotExplained) {
  const StepCheck check = checkStep(*makeTrace(test::Head().text()), 1);
  EXPECT_TRUE(check.right()) << toText(check);
  EXPECT_LE(check.gradient.ratio().value(), 1);
  EXPECT_TRUE(check.gradient.hypotheses.empty());
}

TEST(VerifyStepTest, AGradientOfEachRankByItselfIsASumOverDp) {
  test::Head head;
  head.synced = false;
  EXPECT_EQ(gradientIs(head), Names{"missing_cp_grad_reduce"});
  EXPECT_TRUE(checkStep(*makeTrace(head.text()), 1).gradient.rank.exists()) << "ranks differ";
}

TEST(VerifyStepTest, AGradientTimesCpIsThatOfItsLossWhereThatWasLoggedSo) {
  test::Head head;
  head.factors = {2, 2};
  // The mean over the targets of the drawn numbers.
  const double mean = checkStep(*makeTrace(head.text()), 1).loss.exact.value();
  const auto logged = [](double loss) {
    return "note step.1 {\"loss\": " + nlohmann::json(loss).dump() + "}\n";
  };
  EXPECT_EQ(gradientIs(head, logged(2 * mean)), Names{"loss_scaled_by_cptimes cp"});
  EXPECT_EQ(gradientIs(head, logged(mean)), Names{"grad_scaled_by_cptimes cp"});
  EXPECT_EQ(gradientIs(head), (Names{"loss_scaled_by_cptimes cp", "grad_scaled_by_cptimes cp"}))
      << "of a loss that was not logged it can be either";
  const std::string text = toText(checkStep(*makeTrace(head.text() + logged(mean)), 1));
  EXPECT_NE(text.find("`loss_scaled_by_cp` (by the loss that it would log) "), std::string::npos)
      << text;
  head.factors = {0.5, 0.5};
  EXPECT_EQ(gradientIs(head, logged(mean)), Names{"grad_scaled_by_cpdivided by cp"});
}

TEST(VerifyStepTest, AGradientOfMeansCountsEachRankByItsTargets) {
  test::Head head;
  head.targets = 1;
  head.factors = {5.0 / 8, 5.0 / 2};  // all targets ÷ (own · ranks)
  EXPECT_EQ(gradientIs(head), Names{"mean_of_local_means"});
}

TEST(VerifyStepTest, PartsThatWereMadeSmallerSayByWhichFactors) {
  test::Head head;
  head.factors = {0.9, 0.4};
  EXPECT_EQ(gradientIs(head),
            Names{"clip_before_reduceby factors that fit: rank 0 by 0.9, rank 1 by 0.4"});
  head.factors = {1.5, 0.4};
  EXPECT_EQ(gradientIs(head), Names()) << "clipping makes nothing larger";
  head.factors = {0.3, 0.3};
  EXPECT_EQ(gradientIs(head), Names());
  const std::string text = toText(checkStep(*makeTrace(head.text()), 1));
  EXPECT_NE(text.find("– not tried: `clip_before_reduce` needs the gradients before the sync"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("✗ gradient of lm_head.weight: off by 70 % of its size"), std::string::npos)
      << text;
}

TEST(VerifyStepTest, TheJsonOfAGradientHasWhatEachMistakeIsOffBy) {
  test::Head head;
  head.factors = {2, 2};
  const auto json = toJson(checkStep(*makeTrace(head.text()), 1)).at("gradient");
  EXPECT_EQ(json.at("parameter"), "lm_head.weight");
  EXPECT_NEAR(json.at("off"), 0.5, 1e-4);
  EXPECT_EQ(json.at("rank"), nullptr) << "all have the same";
  for (const auto& tried : json.at("hypotheses").at("mistakes"))
    EXPECT_EQ(tried.at("reproduces"), tried.at("off") <= tried.at("limit"));
}

TEST(VerifyStepTest, AGradientOfRanksWithOtherWeightsIsNotCompared) {
  std::string text = test::Head().text();
  const auto weights = text.rfind("values=");
  text.replace(weights, 8, "values=9");
  EXPECT_EQ(checkStep(*makeTrace(text), 1).gradient.skipped,
            "needs weights that all ranks have alike");
}

TEST(VerifyStepTest, NamesTheReplicasThatANormCounts) {
  // 3² + 4² of the slices, 12² of what both tp ranks have: 13, or √(25 + 2·144) with replicas
  // counted twice.
  const auto logged = [](double norm) {
    return makeTrace(
        "run cp=2 tp=2\ngroup tp 0,1\ngroup tp 2,3\ngroup cp 0,2\ngroup cp 1,3\n"
        "tensor grad.up_proj rank=0 shape=1x1 values=3\n"
        "tensor grad.up_proj rank=1 shape=1x1 values=4\n"
        "tensor grad.norm rank=0 shape=1 values=12\ntensor grad.norm rank=1 shape=1 values=12\n"
        "note step.0 {\"grad_norm\": " +
        nlohmann::json(norm).dump() + "}\n");
  };
  EXPECT_TRUE(checkStep(*logged(13), 0).right());
  for (const auto& [norm, how] :
       {std::pair(std::sqrt(313.0), "counting what tp ranks hold alike once for each of them"),
        std::pair(13 * std::sqrt(2.0), "counting the same gradients of each of 2 ranks"),
        std::pair(std::sqrt(626.0), "counting all that any of the ranks holds")}) {
    const StepCheck check = checkStep(*logged(norm), 0);
    ASSERT_EQ(check.grad_norm.hypotheses.size(), 1u) << toText(check);
    EXPECT_TRUE(check.grad_norm.hypotheses[0].reproduces()) << toText(check);
    EXPECT_EQ(check.grad_norm.hypotheses[0].how, how);
  }
}

TEST(VerifyStepTest, ReportsAnUnexplainedLoss) {
  const StepCheck check = checkStep(*makeTrace(twoRanks(1.23)), 0);
  for (const NumberHypothesis& tried : check.loss.hypotheses)
    EXPECT_FALSE(tried.reproduces()) << toText(check);
  EXPECT_NE(toText(check).find("= no mistake that was tried gives it\n    ≠ excluded: "),
            std::string::npos)
      << toText(check);
}

TEST(VerifyStepTest, TextAndJsonSayByHowMuchEachMisses) {
  const StepCheck check = checkStep(*makeTrace(twoRanks(kMeanOfMeans)), 0);
  const std::string text = toText(check);
  EXPECT_NE(text.find("✗ loss: logged 1.0397208, recomputed 1.1552453, "), std::string::npos)
      << text;
  EXPECT_NE(text.find("= it is what `mean_of_local_means` gives: 1.0397208, 0× its limit"),
            std::string::npos)
      << text;
  const auto tried = toJson(check).at("loss").at("hypotheses").at("mistakes")[0];
  EXPECT_EQ(tried.at("mistake"), "mean_of_local_means");
  EXPECT_EQ(tried.at("reproduces"), true);
  EXPECT_NEAR(tried.at("gives"), kMeanOfMeans, 1e-12);
  EXPECT_LE(tried.at("ratio"), 1);
}

TEST(VerifyStepTest, WithoutTheMeshItSaysWhyNoMistakeWasTried) {
  std::string text = twoRanks(kMeanOfMeans);
  text.erase(0, text.find('\n'));
  const StepCheck check = checkStep(*makeTrace(text), 0);
  EXPECT_TRUE(check.loss.isWrong());
  EXPECT_TRUE(check.loss.hypotheses.empty());
  EXPECT_NE(toText(check).find("– not tried: the sizes of the mesh are not recorded"),
            std::string::npos);
}

TEST(VerifyStepTest, RanksThatAreNotKnownLeaveNothingToCompare) {
  std::string text = twoRanks(kMeanOfMeans);
  text.replace(text.find("cp=2"), 4, "cp=3");
  EXPECT_EQ(checkStep(*makeTrace(text), 0).loss.skipped, "not all ranks of the run are known");
}

TEST(VerifyStepTest, TheFindingHasItsNumbersAsProof) {
  const auto findings = diagnose(*makeTrace(twoRanks(kMeanOfMeans))).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find(
                "Computed again in fp64, the logged loss is what this mistake gives"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find(
                "(logged 1.039721, as it should be 1.155245, with this mistake 1.039721)"),
            std::string::npos)
      << findings[0].evidence;
}

}  // namespace
}  // namespace ringscope::traces
