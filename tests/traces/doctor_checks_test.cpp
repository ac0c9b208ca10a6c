// SPDX-License-Identifier: Apache-2.0
// Which checks a recording allows, what would allow more, and which do not apply to the run.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/checks.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::traces {
namespace {

RuleResult lacking(std::vector<Remedy> remedies) {
  RuleResult result = notObservable("needs something");
  result.remedies = std::move(remedies);
  return result;
}

Diagnosis::Entry entryOf(const std::string& rule, RuleResult result) {
  Diagnosis::Entry entry{rule, std::move(result)};
  entry.lacks = entry.result.would_settle;
  return entry;
}

/// Returns a diagnosis with one clear rule and five that could not judge.
Diagnosis partialDiagnosis() {
  Diagnosis all;
  all.entries = {
      entryOf("dropped_hop", clear()),
      entryOf("lse_base2", lacking({Remedy::kAllValues})),
      entryOf("rank_without_targets", lacking({Remedy::kLoggedLoss})),
      entryOf("metric_not_reduced", lacking({Remedy::kLoggedLoss})),
      entryOf("norm_counts_replicas", lacking({Remedy::kLoggedLoss, Remedy::kAllValues})),
      entryOf("uneven_shards", lacking({}))};
  return all;
}

Diagnosis diagnosed(const test::RecordingCopy& job) {
  return diagnose(*openTrace(job.path()));
}

std::set<std::string> rulesWith(const Diagnosis& diagnosis, Remedy remedy) {
  std::set<std::string> rules;
  for (const Diagnosis::Entry& entry : diagnosis.entries)
    if (isNotMade(entry) && std::ranges::count(entry.result.remedies, remedy) > 0)
      rules.insert(entry.rule);
  return rules;
}

const Diagnosis::Entry& entryFor(const Diagnosis& diagnosis, const std::string& rule) {
  return *std::ranges::find(diagnosis.entries, rule, &Diagnosis::Entry::rule);
}

TEST(DoctorChecksTest, NothingFoundIsSaidOnlyIfEveryRuleThatAppliesJudged) {
  Diagnosis diagnosis = partialDiagnosis();
  EXPECT_EQ(headline(diagnosis),
            "– Nothing wrong in the 1 check that this recording allows; 5 could not be made");
  EXPECT_TRUE(isWithoutFinding(diagnosis));
  EXPECT_FALSE(isClear(diagnosis));
  EXPECT_EQ(toText(diagnosis).find("Nothing found"), std::string::npos);
  for (auto& entry : diagnosis.entries)
    if (isNotMade(entry)) entry.does_not_apply = "there is one dp rank";
  EXPECT_EQ(headline(diagnosis), "✓ Nothing found");
  EXPECT_TRUE(isClear(diagnosis));
  EXPECT_NE(toText(diagnosis).find("1 rule clear, 0 not observable, 5 do not apply to this run\n"),
            std::string::npos);
}

TEST(DoctorChecksTest, AdviceBeginsWithTheRemedyThatGainsMost) {
  const Diagnosis diagnosis = partialDiagnosis();
  const auto advice = adviceFrom(diagnosis);
  ASSERT_EQ(advice.size(), 3u);
  EXPECT_EQ(describe(advice[0]),
            "`ringscope.log(loss=loss)` after the reduction: 2 more checks, and 1 with what else "
            "they need");
  EXPECT_EQ(describe(advice[1]), "`ringscope.record(…, values=\"all\")`: 1 more check");
  EXPECT_EQ(describe(advice[2]), "1 check with needs of its own");
}

TEST(DoctorChecksTest, ARuleThatNeedsTwoRemediesIsUnderTheFirst) {
  const Diagnosis diagnosis = partialDiagnosis();
  const auto advice = adviceFrom(diagnosis);
  EXPECT_EQ(advice[0].alone, 2);
  EXPECT_EQ(advice[0].checks.back()->rule, "norm_counts_replicas");
  EXPECT_NE(toText(diagnosis).find("    norm_counts_replicas: needs something; then also "
                                   "`ringscope.record(…, values=\"all\")`\n"),
            std::string::npos)
      << toText(diagnosis);
}

TEST(DoctorChecksTest, JsonHasTheCountsAndTheRemedies) {
  const auto json = toJson(partialDiagnosis());
  EXPECT_EQ(json["headline"], headline(partialDiagnosis()));
  EXPECT_EQ(json["checks"], nlohmann::json({{"made", 1}, {"not_made", 5}, {"not_applying", 0}}));
  const auto& first = json["remedies"].at(0);
  EXPECT_EQ(first["remedy"], "logged_loss");
  EXPECT_EQ(first["line"], "ringscope.log(loss=loss)");
  EXPECT_EQ(first["where"], "after the reduction");
  EXPECT_EQ(first["gains"], 2);
  EXPECT_EQ(first["with_others"], nlohmann::json({"norm_counts_replicas"}));
  EXPECT_EQ(json["rules"].at(5)["remedies"].size(), 0u);
}

TEST(DoctorChecksTest, WhatIsNotNamedIsNotRequired) {
  const Diagnosis diagnosis = partialDiagnosis();
  EXPECT_EQ(notMade(diagnosis, {}).size(), 5u);
  EXPECT_TRUE(notMade(diagnosis, {"dropped_hop"}).empty());
  EXPECT_EQ(notMade(diagnosis, {"dropped_hop", "lse_base2"}),
            std::vector<std::string>{"lse_base2"});
}

TEST(DoctorChecksTest, TheLinesOfAJobGainTheChecksThatAdviceCounts) {
  const std::string path = test::inSources("tests/reference/hand_recording");
  const test::RecordingCopy right(path), silent(path), undeclared(path);
  const Diagnosis complete = diagnosed(right);
  silent.drop("log");
  undeclared.drop("declared");
  const std::pair<const test::RecordingCopy*, std::vector<Remedy>> cases[] = {
      {&silent, {Remedy::kLoggedLoss}},
      {&undeclared, {Remedy::kDeclaredMask, Remedy::kDeclaredPositions, Remedy::kDeclaredLoss}}};
  for (const auto& [job, remedies] : cases) {
    const Diagnosis without = diagnosed(*job);
    for (const Remedy remedy : remedies) {
      EXPECT_TRUE(rulesWith(complete, remedy).empty()) << "it is there";
      EXPECT_FALSE(rulesWith(without, remedy).empty()) << name(remedy);
      for (const std::string& rule : rulesWith(without, remedy))
        if (entryFor(without, rule).result.remedies.size() == 1) {
          EXPECT_FALSE(isNotMade(entryFor(complete, rule))) << rule << " " << name(remedy);
        }
    }
  }
}

TEST(DoctorChecksTest, NoOptionIsAdvisedForARunThatEndedInItsFirstStep) {
  const std::string records = "run cp=2\ntensor q rank=0 layer=0 values=1\n";
  const Diagnosis cut = diagnose(*test::makeTrace(records));
  const Diagnosis whole = diagnose(*test::makeTrace(records + "end\n"));
  EXPECT_FALSE(rulesWith(whole, Remedy::kFullCapture).empty());
  EXPECT_FALSE(rulesWith(cut, Remedy::kWholeRun).empty());
  for (const Diagnosis::Entry& entry : cut.entries)
    if (!entry.result.remedies.empty()) {
      EXPECT_EQ(entry.result.remedies, std::vector{Remedy::kWholeRun}) << entry.rule;
    }
}

TEST(DoctorChecksTest, ARunWithOneDpRankHasNoCheckOfDpRanks) {
  const Diagnosis one = diagnose(*test::makeTrace("run cp=2\ntensor q rank=0 layer=0 values=1\n"));
  EXPECT_EQ(entryFor(one, "same_batch_on_dp_ranks").does_not_apply, "there is one dp rank");
  EXPECT_EQ(entryFor(one, "heads_not_divisible").does_not_apply, "ranks share no heads");
  EXPECT_EQ(entryFor(one, "mask_dropped").does_not_apply, "the mask has no window");
  EXPECT_TRUE(entryFor(one, "kv_not_rotated").applies());
  EXPECT_TRUE(entryFor(diagnose(Trace()), "same_batch_on_dp_ranks").applies()) << "nobody knows";
}

TEST(DoctorChecksTest, AMaskThatWasNotDeclaredExcludesNoCheck) {
  const test::RecordingCopy job(test::inSources("tests/reference/hand_recording"));
  EXPECT_FALSE(entryFor(diagnosed(job), "mask_dropped").applies());
  job.drop("declared");
  EXPECT_TRUE(entryFor(diagnosed(job), "mask_dropped").applies());
}

TEST(DoctorChecksTest, EveryRemedyHasItsOwnLine) {
  std::set<std::string> lines;
  for (int i = 0; i < static_cast<int>(Remedy::kCount); ++i)
    EXPECT_TRUE(lines.insert(remedyWords(static_cast<Remedy>(i)).line).second);
}

}  // namespace
}  // namespace ringscope::traces
