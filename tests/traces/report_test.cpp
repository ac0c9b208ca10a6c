// SPDX-License-Identifier: Apache-2.0
// Findings as Markdown and HTML, and the places at which views show them.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "traces/analysis/report/finding_place.h"
#include "traces/analysis/report/html.h"
#include "traces/analysis/report/markdown.h"

namespace ringscope::traces {
namespace {

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)> **bold** [a](b) \x01";

Finding missingPositions() {
  Finding finding;
  finding.rule = "missing_position_ids";
  finding.title = "Position ids restart on every rank";
  finding.place = {3, Layer{}, Direction::kBackward, RingStep{}};
  finding.rank = WorldRank::of(2);
  finding.buffer = "position_ids";
  finding.evidence = "56 of 64 position ids differ";
  finding.remedy = "shard `position_ids` too";
  return finding;
}

Report reportOf(const Finding& finding) {
  Report report{"run 1.rscope", {"train · ring · cp 4"}, {}, {{"run-1.png", "Positions"}}};
  report.diagnosis.entries = {{finding.rule, found(finding)}, {"dropped_hop", clear()}};
  return report;
}

TEST(FindingPlaceTest, APlaceWithoutLayerAndRingStepIsShownAtTheFirst) {
  EXPECT_EQ(positionText(placeFor(missingPositions())), "3,0,backward,0");
  EXPECT_EQ(viewFor(missingPositions()), "positions");
}

TEST(FindingPlaceTest, ADifferenceWithoutANameIsShownInTheDiff) {
  Finding finding;
  finding.rule = "no such rule";
  EXPECT_EQ(viewFor(finding), "diff");
}

TEST(FindingPlaceTest, APositionIsReadAsItIsWritten) {
  const Place place{12, Layer::of(3), Direction::kForward, RingStep::of(2)};
  EXPECT_EQ(parsePosition(positionText(place), "--from"), place);
}

TEST(FindingPlaceTest, RejectsOtherPositionsByTheNameOfTheOption) {
  for (const char* wrong : {"", "1", "1,2,forward", "1,2,sideways,3", "1,-2,forward,3",
                            "1,2,forward,3,4", "1,2,forward,x", "99999999999,0,forward,0"})
    EXPECT_ERROR(parsePosition(wrong, "--until"), ErrorCode::kUsage, "--until");
}

TEST(MarkdownReportTest, HasEvidenceRemedyPictureAndCommandsOfEachFinding) {
  const std::string text = toMarkdown(reportOf(missingPositions()));
  for (const char* part :
       {"# Report on run 1.rscope", "- train · ring · cp 4",
        "## Position ids restart on every rank", "rank 2", "![Positions](<run-1.png>)",
        "**Evidence.** 56 of 64 position ids differ",
        "**What to change.** shard `position_ids` too", "**How to reproduce.**",
        "ringscope doctor 'run 1.rscope'",
        "ringscope-gui 'run 1.rscope' --view positions --at 3,0,backward,0 --screenshot",
        " positions.png", "--mistake missing_position_ids", "**Reported in.**", "## Checks",
        "1 rule clear"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(MarkdownReportTest, StringsFromRecordingsAreNoMarkup) {
  Finding finding = missingPositions();
  finding.evidence = kHostile;
  const std::string text = toMarkdown(finding, "x");
  EXPECT_NE(text.find("\\</script\\>\\<img src=x onerror=alert(1)\\> \\*\\*bold\\*\\* \\[a\\](b)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find('\x01'), std::string::npos);
  EXPECT_EQ(escapeMarkdown("a `b` ``` c"), "a \\`b\\` \\`\\`\\` c") << "no code can be opened";
  EXPECT_EQ(escapeMarkdown("position_ids `q[0]` _x"), "position_ids `q[0]` \\_x");
}

TEST(MarkdownReportTest, ACommandNamesTheFileAsOneWord) {
  EXPECT_EQ(quoteForShell("runs/a-1.rscope"), "runs/a-1.rscope");
  EXPECT_EQ(quoteForShell("it's $(x)"), "'it'\\''s $(x)'");
  EXPECT_EQ(quoteForShell("-o"), "'./-o'");
  EXPECT_EQ(quoteForShell(""), "''");
}

TEST(HtmlReportTest, StringsFromRecordingsAreNoMarkup) {
  Finding finding = missingPositions();
  finding.title = finding.evidence = finding.buffer = kHostile;
  Report report = reportOf(finding);
  report.recording = kHostile;
  report.summary = {kHostile};
  const std::string text = summaryHtml(report) + findingsHtml(report) + checksHtml(report);
  EXPECT_EQ(text.find("<img"), std::string::npos);
  EXPECT_EQ(text.find("</script"), std::string::npos);
  EXPECT_NE(text.find("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"), std::string::npos);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
}

TEST(HtmlReportTest, AFindingLeadsToItsViewAndRingStep) {
  const std::string text = findingsHtml(reportOf(missingPositions()));
  EXPECT_NE(text.find("data-view=\"positions\" data-position=\"3,0,backward,0\""),
            std::string::npos)
      << text;
}

TEST(HtmlReportTest, JsonCannotEndItsElement) {
  const nlohmann::json strings = {kHostile, "<!-- <script> <SCRIPT>", "\xff"};
  const std::string text = toScriptJson(strings);
  for (const char* part : {"</", "<!", "<script", "<SCRIPT"})
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  EXPECT_EQ(nlohmann::json::parse(text)[0], strings[0]) << "the strings stay the same";
}

}  // namespace
}  // namespace ringscope::traces
