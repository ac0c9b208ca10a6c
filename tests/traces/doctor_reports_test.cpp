// SPDX-License-Identifier: Apache-2.0
// A diagnosis in the formats of code review and continuous integration, and the findings that a
// baseline accepts.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "traces/analysis/doctor/reports/baseline.h"
#include "traces/analysis/doctor/reports/junit.h"
#include "traces/analysis/doctor/reports/sarif.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

Finding findingOf(const std::string& rule, int rank) {
  Finding finding;
  finding.rule = rule;
  finding.severity = Severity::kError;
  finding.confidence = Confidence::kCertain;
  finding.title = "Blocks are added";
  finding.place = {3, Layer::of(1), Direction::kBackward, RingStep::of(2)};
  finding.rank = WorldRank::of(rank);
  finding.evidence = "out is 2 < 3 & \"more\".";
  finding.remedy = "merge by lse";
  return finding;
}

/// Returns a diagnosis with one rule that found something, one that is clear, and one that cannot
/// tell.
Diagnosis diagnosis() {
  Diagnosis all;
  all.entries = {{"naive_sum_merge", found(findingOf("naive_sum_merge", 1))},
                 {"dropped_hop", clear()},
                 {"nan_from_one_rank", notObservable("needs tensors")}};
  return all;
}

TEST(SarifTest, HasOneResultPerFindingAndDescribesAllRules) {
  const json run = toSarif(diagnosis(), "runs/my trace.rscope", "1.2", nullptr)["runs"][0];
  ASSERT_EQ(run["results"].size(), 1u);
  const json& result = run["results"][0];
  EXPECT_EQ(result["ruleId"], "naive_sum_merge");
  EXPECT_EQ(result["level"], "error");
  EXPECT_FALSE(result.contains("baselineState"));
  const json& location = result["locations"][0];
  EXPECT_EQ(location["physicalLocation"]["artifactLocation"]["uri"], "runs/my%20trace.rscope");
  EXPECT_EQ(location["logicalLocations"][0]["fullyQualifiedName"],
            "rank 1/layer 1/backward/ring step 2");
  const json& driver = run["tool"]["driver"];
  EXPECT_EQ(driver["version"], "1.2");
  ASSERT_EQ(driver["rules"].size(), 3u) << "those that found nothing too";
  EXPECT_EQ(driver["rules"][result["ruleIndex"].get<std::size_t>()]["id"], "naive_sum_merge");
}

TEST(SarifTest, ARuleThatCannotTellBecomesANotification) {
  Diagnosis partial = diagnosis();
  partial.failure = "the run failed: rank 2 died";
  partial.unread = {"a chunk is damaged"};
  partial.unrecorded = {"shapes were not recorded"};
  const json notes = toSarif(partial, "/a", "1",
                             nullptr)["runs"][0]["invocations"][0]["toolExecutionNotifications"];
  ASSERT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes[0]["message"]["text"], partial.failure);
  EXPECT_EQ(notes[1]["message"]["text"], "a chunk is damaged");
  EXPECT_EQ(notes[2]["message"]["text"], "shapes were not recorded");
  EXPECT_EQ(notes[2]["level"], "note");
  EXPECT_NE(notes[3]["message"]["text"].get<std::string>().find("needs tensors"),
            std::string::npos);
}

TEST(SarifTest, AnAbsolutePathIsAFileUriAndAnyBytesAreWrittenOut) {
  const json sarif = toSarif(diagnosis(), "/a/\xff.rscope", "1", nullptr);
  EXPECT_EQ(
      sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
      "file:///a/%FF.rscope");
  EXPECT_NO_THROW(sarif.dump());
}

TEST(JunitTest, CountsRulesAsCasesAndEscapesWhatXmlCannotHold) {
  Diagnosis partial = diagnosis();
  partial.unread = {"control \x01, none \xEF\xBF\xBF, wrong \xff"};
  const std::string xml = toJunit(partial, "a\"b", {});
  EXPECT_NE(xml.find("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("ringscope doctor a&quot;b"), std::string::npos) << xml;
  EXPECT_NE(xml.find("2 &lt; 3 &amp; &quot;more&quot;."), std::string::npos) << xml;
  EXPECT_NE(xml.find("control \uFFFD, none \uFFFD, wrong \uFFFD"), std::string::npos) << xml;
  EXPECT_NE(xml.find("<skipped message=\"needs tensors"), std::string::npos) << xml;
  EXPECT_NE(xml.find("name=\"dropped_hop\"/>"), std::string::npos) << "what is clear passes";
}

TEST(BaselineTest, RecognisesAFindingWithAnotherStepAndOtherNumbers) {
  const Baseline baseline(toJson(diagnosis()), "known.json");
  Finding later = findingOf("naive_sum_merge", 1);
  later.place.train_step = 90;
  later.evidence = "other numbers";
  EXPECT_TRUE(baseline.accepts(later));
  EXPECT_FALSE(baseline.accepts(findingOf("naive_sum_merge", 2))) << "of another rank";
  EXPECT_FALSE(baseline.accepts(findingOf("lse_base2", 1))) << "of another rule";
  EXPECT_FALSE(Baseline().accepts(later));
}

TEST(BaselineTest, KnownFindingsAreUnchangedInSarifAndSkippedInJunit) {
  const Baseline baseline(toJson(diagnosis()), "known.json");
  const auto state_in = [](const json& sarif) {
    return sarif["runs"][0]["results"][0]["baselineState"];
  };
  EXPECT_EQ(state_in(toSarif(diagnosis(), "a", "1", &baseline)), "unchanged");
  const Baseline none;
  EXPECT_EQ(state_in(toSarif(diagnosis(), "a", "1", &none)), "new");
  const std::string xml = toJunit(diagnosis(), "a", baseline);
  EXPECT_NE(xml.find("failures=\"0\" errors=\"0\" skipped=\"2\""), std::string::npos) << xml;
}

TEST(BaselineTest, ReportsFindingsThatAreGone) {
  const Baseline baseline(toJson(diagnosis()), "known.json");
  EXPECT_TRUE(baseline.gone(diagnosis()).empty());
  EXPECT_EQ(
      baseline.gone(Diagnosis()),
      (std::vector<std::string>{"naive_sum_merge, rank 1, layer 1, direction backward, stage 2"}));
}

TEST(BaselineTest, RejectsAFileThatIsNoReportByName) {
  for (const char* text : {"[]", "7", R"({"findings": 7})", R"({"findings": [{}]})"})
    EXPECT_ERROR(Baseline(json::parse(text), "known.json"), ErrorCode::kInput, "known.json");
}

}  // namespace
}  // namespace ringscope::traces
