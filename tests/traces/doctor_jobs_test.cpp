// SPDX-License-Identifier: Apache-2.0
// Rules about mistakes that only recorded jobs make.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"
#include "traces/format/trace/called_losses.h"

namespace ringscope::traces {
namespace {

using test::findVerdict;

const std::string kJob = "note framework \"pytorch\"\n";
const std::string kTwoRanks = kJob + "run cp=2 seq_len=8\ngroup cp 0,1\ngroup dp_cp 0,1\n";

/// Returns the verdict about a backward that began outside of the context of its forward.
Verdict outside(const std::string& balance, const std::string& error) {
  return findVerdict("backward_outside_context",
                     kJob + "run cp=2 balance=" + balance + "\ngroup cp 0,1\n" +
                         "note backward_outside [{\"step\": 0, \"rank\": 1, \"attentions\": 2, "
                         "\"error\": \"" +
                         error + "\"}]\n");
}

TEST(ContextRuleTest, ABackwardOutsideOfTheContextIsFoundIfItCannotBeRight) {
  EXPECT_EQ(outside("head_tail", ""), Verdict::kFound);
  EXPECT_EQ(outside("none", "failed:NotImplementedError"), Verdict::kFound);
  EXPECT_EQ(outside("none", ""), Verdict::kNotObservable) << "a gathering backward may be right";
}

TEST(ContextRuleTest, TheRuleIsClearOnlyIfTheContextWasObserved) {
  const char* rule = "backward_outside_context";
  EXPECT_EQ(findVerdict(rule, kTwoRanks + "note backward_outside []\n"), Verdict::kClear);
  EXPECT_EQ(findVerdict(rule, kTwoRanks), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict(rule, kTwoRanks + "note recorder {\"attention\": \"annotated\"}\n"),
            Verdict::kClear)
      << "the job computes attention itself";
}

/// Returns the verdict about two ranks whose tokens are cut along dimension 1, and a third buffer.
Verdict cutWith(const std::string& buffer) {
  return findVerdict(
      "media_cut_wrongly",
      kTwoRanks + "shard input_ids tokens=0-4 full=2x8 local=2x4\n" + "shard " + buffer + "\n");
}

TEST(MediaRuleTest, PositionsOfThreeAxesThatAreCutByBatchAreFound) {
  EXPECT_EQ(cutWith("position_ids dim=1 full=3x2x8 local=3x1x8"), Verdict::kFound);
  EXPECT_EQ(cutWith("position_ids dim=2 full=3x2x8 local=3x2x4"), Verdict::kClear);
  EXPECT_EQ(cutWith("labels dim=1 full=2x8 local=2x4"), Verdict::kClear) << "no media";
}

TEST(MediaRuleTest, ABufferOfTheJobIsFoundOnlyIfItsWholeRowsWereAttended) {
  const std::string embeddings = "embeddings dim=0 full=2x8x16 local=1x8x16";
  EXPECT_EQ(cutWith(embeddings + "\ntensor q layer=0 shape=1x4x8x4"), Verdict::kFound);
  EXPECT_EQ(cutWith(embeddings + "\ntensor q layer=0 shape=2x4x4x4"), Verdict::kNotObservable)
      << "images that ranks share, as wide as the sequence is long";
}

/// Returns the verdict about a call that PyTorch refused.
Verdict refused(const std::string& buffers) {
  return findVerdict("media_cut_wrongly", kTwoRanks + "note uncut_buffers [" + buffers + "]\n");
}

TEST(MediaRuleTest, ARefusedCallIsFoundIfOneBufferIsCutAcross) {
  const std::string ids =
      "{\"step\":0,\"rank\":0,\"buffer\":\"ids\",\"seq_dim\":1,\"shape\":[1,8]}";
  const std::string across =
      ",{\"step\":0,\"rank\":0,\"buffer\":\"places\",\"seq_dim\":1,\"shape\":[3,1,8]}";
  const std::string along =
      ",{\"step\":0,\"rank\":0,\"buffer\":\"places\",\"seq_dim\":2,\"shape\":[3,1,8]}";
  EXPECT_EQ(refused(ids + across), Verdict::kFound);
  EXPECT_EQ(refused(ids + along), Verdict::kNotObservable);
  EXPECT_EQ(refused(across.substr(1)), Verdict::kNotObservable) << "no tokens to compare with";
}

/// Returns two ranks' weights after two steps, with the given ones of rank 1 after the second.
std::string weights(const std::string& later) {
  std::string text = kTwoRanks;
  for (const char* step : {"0", "1"})
    for (const char* rank : {"0", "1"}) {
      const std::string at = std::string(" rank=") + rank + " step=" + step;
      const bool other = at == " rank=1 step=1";
      text += "tensor grad.qk" + at + " shape=2x4 values=1,1,1,1,1,1,1,1\n";
      text += "tensor weight.qk" + at + " shape=2x4 values=" + (other ? later : "1,2,3,4,5,6,7,8") +
              "\n";
      text += "tensor weight.mlp" + at + " shape=2x4 values=1,1,1,1,1,1,1,1\n";
    }
  return text;
}

TEST(MaximumRuleTest, WeightsThatDifferByAFactorOfARowAreFound) {
  const char* rule = "maximum_not_reduced";
  EXPECT_EQ(findVerdict(rule, weights("1,2,3,4,4.5,5.4,6.3,7.2")), Verdict::kFound);
  EXPECT_EQ(findVerdict(rule, weights("1,2,3,4,5,6,7,8")), Verdict::kClear);
  EXPECT_EQ(findVerdict(rule, weights("1,2,3,4,5,6,7,9")), Verdict::kNotObservable)
      << "another difference";
}

TEST(MaximumRuleTest, DifferentGradientsAreAnotherMistake) {
  const std::string text = weights("1,2,3,4,4.5,5.4,6.3,7.2") +
                           "tensor grad.mlp rank=0 shape=1 values=1\n" +
                           "tensor grad.mlp rank=1 shape=1 values=2\n";
  EXPECT_EQ(findVerdict("maximum_not_reduced", text), Verdict::kNotObservable);
}

TEST(MaximumRuleTest, OneStepDoesNotShowWhatFollowsAnUpdate) {
  const std::string text = kTwoRanks + "tensor grad.qk rank=0 shape=1 values=1\n" +
                           "tensor grad.qk rank=1 shape=1 values=1\n" +
                           "tensor weight.qk rank=0 shape=1 values=1\n" +
                           "tensor weight.qk rank=1 shape=1 values=1\n";
  EXPECT_EQ(findVerdict("maximum_not_reduced", text), Verdict::kNotObservable);
}

/// Returns the verdict about auxiliary losses of two ranks, given as {"0": […], "1": […]}, beside a
/// cross entropy of 8 targets.
Verdict auxiliaryBeside(double weight_of_target, const std::string& losses) {
  CalledLoss loss;
  loss.targets = 4;
  loss.smoothing = 0;
  loss.weights = CalledLoss::Weights{weight_of_target, weight_of_target, weight_of_target, 1e-8};
  loss.product = 1.5;
  loss.head_product = 3;
  loss.parameter = "lm_head.weight";
  loss.dtype = "float32";
  const nlohmann::json own = nlohmann::json::array({toJson(loss)});
  return findVerdict("aux_loss_scaled_by_ranks", kTwoRanks + "tensor q layer=0 shape=1\nnote " +
                                                     calledLossesKey(0) + " " +
                                                     nlohmann::json{{"0", own}, {"1", own}}.dump() +
                                                     "\nnote auxiliary.0 " + losses + "\n");
}

/// Returns a loss that is meant to weigh 0.02.
std::string auxiliaryLoss(const std::string& gradient, const char* part = "false") {
  return "{\"microbatch\":0,\"weight\":0.02,\"part\":" + std::string(part) +
         ",\"gradient\":" + gradient + "}";
}

/// Returns the verdict about one loss per rank.
Verdict auxiliary(const std::string& gradient_0, const std::string& gradient_1,
                  double weight_of_target = 1.0 / 8, const char* part = "false") {
  return auxiliaryBeside(weight_of_target, "{\"0\":[" + auxiliaryLoss(gradient_0, part) +
                                               "],\"1\":[" + auxiliaryLoss(gradient_1, part) +
                                               "]}");
}

TEST(AuxiliaryLossRuleTest, LossesThatCountOncePerRankAreFound) {
  EXPECT_EQ(auxiliary("0.02", "0.02"), Verdict::kFound);
  EXPECT_EQ(auxiliary("0.01", "0.01"), Verdict::kClear);
  EXPECT_EQ(auxiliary("0.02", "0.02", 1.0 / 8, "true"), Verdict::kClear) << "parts of one loss";
  EXPECT_EQ(auxiliary("0.04", "0.04", 1.0 / 8, "true"), Verdict::kFound);
}

TEST(AuxiliaryLossRuleTest, EachLayersLossIsJudgedByItself) {
  const auto of_layers = [](const std::string& first, const std::string& second) {
    const std::string both = "[" + auxiliaryLoss(first) + "," + auxiliaryLoss(second) + "]";
    return auxiliaryBeside(1.0 / 8, "{\"0\":" + both + ",\"1\":" + both + "}");
  };
  EXPECT_EQ(of_layers("0.01", "0.01"), Verdict::kClear);
  EXPECT_EQ(of_layers("0.01", "0.02"), Verdict::kFound);
}

TEST(AuxiliaryLossRuleTest, OtherGradientsAreNotJudged) {
  EXPECT_EQ(auxiliary("0.015", "0.015"), Verdict::kNotObservable) << "another weight";
  EXPECT_EQ(auxiliary("0.03", "0.01"), Verdict::kNotObservable) << "ranks differ";
  EXPECT_EQ(auxiliary("0.02", "0.02", 1.0 / 4), Verdict::kNotObservable)
      << "the cross entropy has the same factor";
}

/// Returns the verdict about a validation whose ranks have 6 of 2 targets and 10 of 6, and what
/// was logged.
Verdict validated(const std::string& logged) {
  return findVerdict("validation_counts_before_cut",
                     kTwoRanks +
                         "note evaluated.1 {\"0\":[{\"sum\":6,\"targets\":2}],"
                         "\"1\":[{\"sum\":10,\"targets\":6}]}\n" +
                         (logged.empty() ? "" : "note step.1 {" + logged + "}\n"));
}

TEST(ValidationRuleTest, ALoggedLossOverOtherTargetsIsFound) {
  EXPECT_EQ(validated("\"validation_loss\":2"), Verdict::kClear);
  EXPECT_EQ(validated("\"validation_loss\":1"), Verdict::kFound) << "1 / cp";
  EXPECT_EQ(validated("\"validation_loss\":4"), Verdict::kFound) << "times cp";
  EXPECT_EQ(validated("\"validation_loss\":8"), Verdict::kFound) << "all over one rank's targets";
  EXPECT_EQ(validated("\"validation_loss\":0.75"), Verdict::kFound) << "one rank over all targets";
  EXPECT_EQ(validated("\"validation_loss\":1.7"), Verdict::kNotObservable);
}

TEST(ValidationRuleTest, ALossThatWasNotLoggedIsNotJudged) {
  EXPECT_EQ(validated(""), Verdict::kNotObservable);
  EXPECT_EQ(validated("\"loss\":1"), Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
