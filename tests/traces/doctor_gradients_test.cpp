// SPDX-License-Identifier: Apache-2.0
// The rules about gradients after the sync, their norm and the clipping. Each is tested in a
// recording in which it finds a mistake, in one in which it is clear, and in one in which it cannot
// tell.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/recorded_head.h"
#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::Head;
Head scaled(double factor) {
  Head head;
  head.factors = {factor, factor};
  return head;
}

constexpr const char* kScaled = "grad_scaled_by_cp";
constexpr const char* kClipped = "clip_before_reduce";

TEST(GradScaledByCpRuleTest, LogitsAndLabelsTellHowLargeAGradientIs) {
  EXPECT_EQ(findVerdict(kScaled, scaled(1).text()), Verdict::kClear);
  for (const double factor : {2.0, 0.5}) {
    const auto wrong = answerFrom(kScaled, scaled(factor).text());
    ASSERT_EQ(wrong.verdict, Verdict::kFound) << factor << wrong.would_settle;
    const Finding& finding = wrong.findings.front();
    EXPECT_EQ(finding.confidence, factor > 1 ? Confidence::kCertain : Confidence::kLikely)
        << "clipping may do the same";
    EXPECT_EQ(finding.evidence.find("clip their own") != std::string::npos, factor < 1);
    EXPECT_EQ(finding.place.train_step, 1);
    EXPECT_EQ(findVerdict(kClipped, scaled(factor).text()), Verdict::kNotObservable);
  }
  EXPECT_EQ(findVerdict(kScaled, scaled(3).text()), Verdict::kNotObservable)
      << "it is no factor of cp";
}

/// Ranks with the same tokens have the same part of the whole, summed or not.
TEST(MissingCpGradReduceRuleTest, EqualGradientsThatAreAPartOfTheWholeWereNotSummed) {
  const auto answered = [](const Head& head, const std::string& event) {
    const auto trace = test::makeTrace(head.text() + event);
    const Diagnosis diagnosis = diagnose(*trace);
    std::vector<std::string> found;
    for (const Finding& finding : diagnosis.findings()) found.push_back(finding.rule);
    return found;
  };
  const std::string event = "attend rank=0 layer=0 step=1\n";
  const std::string sum = "collective rank=0 step=1 payload=grads bytes=8\n";
  const auto missing = answered(scaled(0.5), event);
  EXPECT_TRUE(std::ranges::find(missing, "missing_cp_grad_reduce") != missing.end());
  EXPECT_TRUE(std::ranges::find(missing, kScaled) == missing.end()) << "it is what comes of it";
  const auto divided = answered(scaled(0.5), event + sum);
  EXPECT_TRUE(std::ranges::find(divided, "missing_cp_grad_reduce") == divided.end());
  EXPECT_TRUE(std::ranges::find(divided, kScaled) != divided.end());
}

TEST(GradScaledByCpRuleTest, TheFirstStepOfATrainingIsUndone) {
  Head head = scaled(1);
  head.step = 0;
  head.lr = 0.1;
  head.run = "run cp=2 lr=0.1 weight_decay=0\n";
  EXPECT_EQ(findVerdict(kScaled, head.text()), Verdict::kClear);
  head.factors = {2, 2};
  EXPECT_EQ(findVerdict(kScaled, head.text()), Verdict::kFound);
  head.run = "run cp=2 command=import lr=0.1 weight_decay=0\n";
  EXPECT_EQ(findVerdict(kScaled, head.text()), Verdict::kNotObservable)
      << "by whichever optimizer somebody else trains";
}

TEST(GradScaledByCpRuleTest, JudgesASharedWeightByTokensThatAreInNoInput) {
  Head head = scaled(1);
  head.tied = true;
  EXPECT_EQ(findVerdict(kScaled, head.text()), Verdict::kClear);
  head.factors = {2, 2};
  EXPECT_EQ(findVerdict(kScaled, head.text()), Verdict::kFound);
}

TEST(GradScaledByCpRuleTest, WithoutWhatItIsComputedFromItCannotTell) {
  for (const char* tensor :
       {"logits", "buffer.labels", "grad.lm_head.weight", "weight.lm_head.weight"}) {
    std::string text = scaled(2).text();
    for (auto at = text.find(tensor); at != std::string::npos; at = text.find(tensor, at))
      text.replace(at, 1, "x");
    EXPECT_EQ(findVerdict(kScaled, text), Verdict::kNotObservable) << tensor;
  }
  std::string other = scaled(2).text();
  other.replace(other.find("loss=mean_over_targets"), 22, "loss=unknown");
  EXPECT_EQ(findVerdict(kScaled, other), Verdict::kNotObservable) << "what was meant is not known";
  EXPECT_EQ(findVerdict(kScaled, scaled(2).text() + "tensor logits step=1 microbatch=1 shape=1\n"),
            Verdict::kNotObservable)
      << "its gradient is of several microbatches";
  other = scaled(2).text();
  other.replace(other.find("cp=2"), 4, "cp=3");
  EXPECT_EQ(findVerdict(kScaled, other), Verdict::kNotObservable) << "a rank is not recorded";
}

/// Returns two gradients that are `factor` times those of the unsharded run, as verdicts.
std::string verdicts(double factor, const std::string& more = "") {
  const auto line = [&](const char* tensor, double size) {
    const double error = std::abs(factor - 1) * size;
    return std::string("diff ") + tensor + " isolated=no scale=" + std::to_string(size) +
           " error=" + std::to_string(error) + " ratio=" + (error > 0 ? "1000" : "0.5") + "\n";
  };
  return "run cp=2\ndiff loss isolated=no ratio=0.2\n" + line("grad.a", 3) + line("grad.b", 5) +
         line("grad_norm", 6) + "note step.0 {\"grad_norm\": " + std::to_string(6 * factor) +
         "}\n" + more;
}

TEST(GradScaledByCpRuleTest, VerdictsOnAllGradientsSayItWhereNoValueWasKept) {
  EXPECT_EQ(findVerdict(kScaled, verdicts(1)), Verdict::kClear);
  EXPECT_EQ(findVerdict(kClipped, verdicts(1)), Verdict::kClear);
  const auto wrong = answerFrom(kScaled, verdicts(2));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(findVerdict(kScaled, verdicts(0.5)), Verdict::kFound);
  EXPECT_EQ(findVerdict(kScaled, verdicts(1.7)), Verdict::kNotObservable);
  const std::string wide = "diff grad.c isolated=no scale=1 error=1 limit=2 ratio=0.5\n";
  EXPECT_EQ(findVerdict(kScaled, verdicts(1, wide)), Verdict::kNotObservable)
      << "so much rounding leaves room for a factor";
  EXPECT_EQ(findVerdict(kScaled, verdicts(2, "diff grad.c isolated=no scale=1 error=3 ratio=9\n")),
            Verdict::kNotObservable)
      << "one gradient has another factor";
  EXPECT_EQ(findVerdict(kScaled, verdicts(2, "diff dout layer=0 isolated=no ratio=9\n")),
            Verdict::kNotObservable)
      << "what the gradients are made of is wrong already";
}

TEST(ClipBeforeReduceRuleTest, FindsAnUnclippedSumAboveTheLimit) {
  const auto logged = [](const char* norm, const char* coefficient) {
    return std::string(
               "run cp=2 max_norm=0.5\nnote step.0 {\"grad_norm\": 0.2, \"clip_coefficient\": "
               "1}\nnote step.1 {\"grad_norm\": ") +
           norm + ", \"clip_coefficient\": " + coefficient + "}\n";
  };
  const auto wrong = answerFrom(kClipped, logged("2", "1"));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().place.train_step, 1);
  EXPECT_NE(wrong.findings.front().evidence.find("a factor of 0.25 was due"), std::string::npos)
      << wrong.findings.front().evidence;
  EXPECT_EQ(findVerdict(kClipped, logged("2", "0.25")), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict(kClipped, logged("0.5", "1")), Verdict::kNotObservable) << "at the limit";
  EXPECT_EQ(findVerdict(kClipped, logged("null", "1")), Verdict::kNotObservable) << "no number";
}

TEST(ClipBeforeReduceRuleTest, FindsRanksThatClippedTheirOwnPart) {
  Head head;
  EXPECT_EQ(findVerdict(kClipped, head.text()), Verdict::kClear);
  head.factors = {0.4, 1};
  const auto wrong = answerFrom(kClipped, head.text());
  ASSERT_EQ(wrong.verdict, Verdict::kFound) << wrong.would_settle;
  EXPECT_NE(wrong.findings.front().evidence.find("rank 0 by 0.4, rank 1 by 1"), std::string::npos)
      << wrong.findings.front().evidence;
  EXPECT_EQ(findVerdict(kScaled, head.text()), Verdict::kNotObservable);
  head.factors = {0.4, 1.6};
  EXPECT_EQ(findVerdict(kClipped, head.text()), Verdict::kNotObservable)
      << "clipping makes none larger";
  head.factors = {0.7, 0.7};
  EXPECT_EQ(findVerdict(kClipped, head.text()), Verdict::kNotObservable) << "nor all by one factor";
}

/// One training step is wrong in no known way, and another step is right.
TEST(ClipBeforeReduceRuleTest, ARightStepDoesNotExcuseAWrongOne) {
  for (const auto& [first, second] : {std::pair(1.0, 0.7), std::pair(0.7, 1.0)}) {
    Head one = scaled(first), two = scaled(second);
    two.step = one.step + 1;
    const std::string next = two.text();
    EXPECT_EQ(findVerdict(kClipped, one.text() + next.substr(next.find("tensor"))),
              Verdict::kNotObservable)
        << first;
  }
}

TEST(ClipBeforeReduceRuleTest, DistinguishesPartsThatWereMadeVerySmall) {
  Head head;
  head.factors = {0.01, 0.0105};
  EXPECT_EQ(findVerdict(kClipped, head.text()), Verdict::kFound);
}

TEST(ClipBeforeReduceRuleTest, GradientsThatRanksDoNotShareProveNothing) {
  std::string text = scaled(2).text();
  const auto second = text.rfind("tensor grad.");
  text.insert(text.find(" shape", second), " hash=5");
  EXPECT_EQ(findVerdict(kClipped, text), Verdict::kNotObservable);
}

// -------- the norm

/// Returns the same gradient, of norm 5, on two ranks.
std::string loggedNorm(double norm, const std::string& values = " shape=1x2 values=3,4",
                       const std::string& run = "run cp=2\n") {
  std::string text = run + "group cp 0,1\n";
  for (const char* rank : {"0", "1"})
    text += "tensor grad.w rank=" + std::string(rank) + values + "\n";
  return text + "note step.0 {\"grad_norm\": " + std::to_string(norm) + "}\n";
}

TEST(NormCountsReplicasRuleTest, TheNormSaysHowOftenAGradientWasCounted) {
  const char* rule = "norm_counts_replicas";
  EXPECT_EQ(findVerdict(rule, loggedNorm(5)), Verdict::kClear);
  const auto wrong = answerFrom(rule, loggedNorm(5 * std::sqrt(2.0)));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_NE(wrong.findings.front().evidence.find("7.07107"), std::string::npos);
  EXPECT_EQ(findVerdict(rule, loggedNorm(6)), Verdict::kNotObservable)
      << "no way of counting gives it";
  EXPECT_EQ(findVerdict(rule, loggedNorm(7.07)), Verdict::kNotObservable)
      << "nor is it rounded for people";
  EXPECT_EQ(findVerdict(rule, loggedNorm(5, " shape=1x2 min=3 max=4")), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict(rule, "run cp=2\n"), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict(rule, "run cp=1\n"), Verdict::kClear) << "there are no replicas";
}

TEST(NormCountsReplicasRuleTest, ReplicasOnTpRanksCountOnce) {
  const std::string text =
      "run tp=2\ngroup tp 0,1\n"
      "tensor grad.w rank=0 shape=1x1 values=3\ntensor grad.w rank=1 shape=1x1 values=4\n"
      "tensor grad.norm rank=0 shape=1 values=12\ntensor grad.norm rank=1 shape=1 values=12\n";
  const auto with = [&](double squares) {
    return text + "note step.0 {\"grad_norm\": " + std::to_string(std::sqrt(squares)) + "}\n";
  };
  EXPECT_EQ(findVerdict("norm_counts_replicas", with(169)), Verdict::kClear);
  EXPECT_EQ(findVerdict("norm_counts_replicas", with(169 + 144)), Verdict::kFound);
}

TEST(NormCountsReplicasRuleTest, UsesTheVerdictOnTheNormWhenNoValueWasKept) {
  const std::string run = "run cp=2 dp=2\n";
  EXPECT_EQ(findVerdict("norm_counts_replicas", run + "diff clip_norm scale=5 error=0 ratio=0\n"),
            Verdict::kClear);
  const auto wrong =
      answerFrom("norm_counts_replicas", run + "diff clip_norm scale=5 error=5 ratio=1000\n");
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(wrong.findings.front().confidence, Confidence::kLikely);
  EXPECT_EQ(
      findVerdict("norm_counts_replicas", run + "diff clip_norm scale=5 error=4 ratio=1000\n"),
      Verdict::kNotObservable);
}

// -------- the embeddings

std::string embedding(const std::string& embedding_of, const std::string& more,
                      const std::string& run = "run cp=2\n") {
  std::string text = run;
  for (const char* rank : {"0", "1"})
    text += std::string("tensor grad.model.embed_tokens.weight rank=") + rank + embedding_of +
            "\ntensor grad.model.norm.weight rank=" + rank + " abs_max=2\n";
  return text + more;
}

TEST(EmbeddingDetachedRuleTest, AGradientOfZerosCountsAsMissing) {
  const char* rule = "embedding_detached";
  const std::string head = "tensor grad.lm_head.weight rank=0 abs_max=1\n";
  EXPECT_EQ(findVerdict(rule, embedding(" abs_max=0.1", head)), Verdict::kClear);
  EXPECT_EQ(findVerdict(rule, embedding("", head, "run cp=4\n")), Verdict::kNotObservable)
      << "others may hold the rows that the sequences have";
  const auto wrong = answerFrom(rule, embedding("", head));
  ASSERT_EQ(wrong.verdict, Verdict::kFound);
  EXPECT_EQ(findVerdict(rule, embedding(" abs_max=0.1", "")), Verdict::kNotObservable)
      << "it may be that of an output projection with the same weight";
  EXPECT_EQ(findVerdict(rule, embedding(" nan=3", head)), Verdict::kClear) << "NaN is not 0";
  EXPECT_EQ(findVerdict(rule, "run cp=2\n"), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict(rule, "tensor grad.model.embed_tokens.weight\ntensor grad.a\n"),
            Verdict::kNotObservable)
      << "nothing has a gradient";
}

TEST(EmbeddingDetachedRuleTest, ASliceOfUnusedTokensNeedsNoGradient) {
  const std::string run = "run tp=3 cp=1\ngroup tp 0,1,2\n",
                    third = "tensor grad.model.embed_tokens.weight rank=2",
                    head = "tensor grad.lm_head.weight rank=0 abs_max=1\n";
  const char* rule = "embedding_detached";
  EXPECT_EQ(findVerdict(rule, embedding("", head, run)), Verdict::kNotObservable);
  EXPECT_EQ(findVerdict(rule, embedding("", head + third + " abs_max=0.1\n", run)),
            Verdict::kClear);
  EXPECT_EQ(findVerdict(rule, embedding("", head + third + "\n", run)), Verdict::kFound);
}

}  // namespace
}  // namespace ringscope::traces
