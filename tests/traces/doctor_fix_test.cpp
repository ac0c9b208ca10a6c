// SPDX-License-Identifier: Apache-2.0
// The advice of a finding for the recorded framework, in every form of the report.
#include <gtest/gtest.h>

#include <regex>

#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/reports/junit.h"
#include "traces/analysis/doctor/reports/sarif.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/explanation.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

constexpr const char* kRule = "balance_without_causal";
const std::string kRun = "run cp=2 mask=full balance=head_tail\n";

/// Returns the diagnosis of a recording in which the rule above finds something.
Diagnosis diagnosisWith(const std::string& notes) {
  return diagnose(*test::makeTrace(kRun + notes));
}
Finding findingWith(const std::string& notes) {
  const auto findings = diagnosisWith(notes).findings();
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding() : findings.front();
}

std::string noteOf(Framework framework) {
  return std::string("note framework \"") + name(framework) + "\"\n";
}

TEST(DoctorFixTest, IsOfTheFrameworkThatTheRecordingNames) {
  const Explanation explanation = readExplanation(kRule);
  for (std::size_t i = 0; i < kValueCount<Framework>; ++i) {
    const auto framework = static_cast<Framework>(i);
    const Finding finding = findingWith(noteOf(framework));
    ASSERT_EQ(finding.rule, kRule);
    const auto* remedy = explanation.remedyFor(framework);
    EXPECT_EQ(finding.fix.framework, remedy->framework) << name(framework);
    EXPECT_EQ(finding.fix.text, remedy->text) << name(framework);
  }
  EXPECT_EQ(findingWith("").fix.framework, "RingScope") << "its own recordings have no such note";
}

TEST(DoctorFixTest, AFixForAnUnknownFrameworkHasOnlyTheReports) {
  for (const char* notes : {"note framework \"jax\"\n", "note framework 7\n",
                            "note framework \"pytorch\"\nnote framework \"megatron\"\n"}) {
    EXPECT_FALSE(findFramework(*test::makeTrace(kRun + notes))) << notes;
    const Finding finding = findingWith(notes);
    EXPECT_TRUE(finding.fix.text.empty() && finding.fix.framework.empty()) << notes;
    EXPECT_FALSE(finding.fix.links.empty()) << notes;
  }
  EXPECT_EQ(
      findFramework(*test::makeTrace(noteOf(Framework::kMegatron) + noteOf(Framework::kMegatron))),
      Framework::kMegatron)
      << "of joined recordings that say the same";
}

TEST(DoctorFixTest, EveryMistakeHasOneForEachFrameworkAndWellFormedLinks) {
  const std::regex address(R"(https://[a-z0-9.-]+\.[a-z]+(/[\w.~%+#?=&@:-]*)*)");
  for (const Mistake& mistake : mistakeCatalogue())
    for (std::size_t i = 0; i < kValueCount<Framework>; ++i) {
      const Fix fix = fixFor(mistake.id, static_cast<Framework>(i));
      EXPECT_FALSE(fix.text.empty()) << mistake.id;
      EXPECT_FALSE(fix.framework.empty()) << mistake.id;
      EXPECT_FALSE(fix.links.empty()) << mistake.id;
      for (const std::string& link : fix.links)
        EXPECT_TRUE(std::regex_match(link, address)) << mistake.id << ": " << link;
    }
}

TEST(DoctorFixTest, AFindingOutsideTheCatalogueHasNoFix) {
  const Fix fix = fixFor("unknown_mistake", Framework::kPyTorch);
  EXPECT_TRUE(fix.text.empty() && fix.framework.empty() && fix.links.empty());
}

TEST(DoctorFixTest, StandsInEveryFormOfTheReport) {
  const Diagnosis diagnosis = diagnosisWith(noteOf(Framework::kPyTorch));
  const Fix fix = diagnosis.findings().at(0).fix;
  ASSERT_FALSE(fix.links.empty());
  const std::string first_line = fix.text.substr(0, fix.text.find('\n'));
  const auto has = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  const std::string text = toText(diagnosis);
  EXPECT_TRUE(has(text, "\n  In PyTorch:\n    " + first_line + "\n")) << text;
  EXPECT_TRUE(has(text, "\n    " + fix.links[0] + "\n")) << text;
  const auto json = toJson(diagnosis)["findings"][0];
  EXPECT_EQ(json["fix"]["framework"], "PyTorch");
  EXPECT_EQ(json["fix"]["text"], fix.text);
  EXPECT_EQ(json["links"], fix.links);
  const auto run = toSarif(diagnosis, "a", "1", nullptr)["runs"][0];
  const auto& rule =
      run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"].get<std::size_t>()];
  EXPECT_EQ(rule["helpUri"], fix.links[0]);
  for (const char* form : {"text", "markdown"}) {
    const std::string help = rule["help"][form];
    EXPECT_TRUE(has(help, "What to change in PyTorch:\n\n" + fix.text)) << help;
    EXPECT_TRUE(has(help, fix.links[0])) << help;
  }
  EXPECT_EQ(run["results"][0]["properties"]["links"], fix.links);
  const std::string xml = toJunit(diagnosis, "a", {});
  EXPECT_TRUE(has(xml, "In PyTorch:")) << xml;
  EXPECT_TRUE(has(xml, fix.links[0])) << xml;
}

}  // namespace
}  // namespace ringscope::traces
