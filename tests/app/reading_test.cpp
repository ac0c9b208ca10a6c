// SPDX-License-Identifier: Apache-2.0
// Commands that read recordings and need no engine, and ringscope without an engine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/files.h"
#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "tests/support/run_program.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/resources.h"
#include "traces/format/storage/sqlite.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::expectOneSentence;
using test::ringscope;
using test::sampleRecording;

TEST(ReadingTest, EveryReadingCommandHasHelp) {
  for (const char* command :
       {"diff", "doctor", "mistakes", "verify", "info", "merge", "predict", "gui"}) {
    const auto result = ringscope(std::string(command) + " --help");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_NE(result.out.find(std::string("Usage: ringscope ") + command), std::string::npos)
        << result.out;
  }
}

TEST(ReadingTest, HelpListsTheCommandsOfTheEngineToo) {
  const auto help = ringscope("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* line : {"train ", "attend ", "bench ", "diff ", "doctor ", "mistakes ",
                           "verify ", "info ", "merge ", "predict ", "gui "})
    EXPECT_NE(help.out.find(std::string("\n  ") + line), std::string::npos) << line << help.out;
}

TEST(ReadingTest, TheVersionIsOneLine) {
  const auto version = ringscope("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_TRUE(version.out.starts_with("ringscope 0.")) << version.out;
  EXPECT_EQ(std::count(version.out.begin(), version.out.end(), '\n'), 1);
}

TEST(ReadingTest, InfoSaysWhatTheSampleHolds) {
  const auto info = ringscope("info --json " + sampleRecording());
  ASSERT_EQ(info.code, 0) << info.err;
  const json report = json::parse(info.out);
  EXPECT_EQ(report["ranks"], 4);
  EXPECT_EQ(report["complete"], true);
  EXPECT_TRUE(report["problems"].empty()) << report["problems"];
  const auto text = ringscope("info " + sampleRecording());
  EXPECT_NE(text.out.find("4 ranks"), std::string::npos) << text.out;
}

TEST(ReadingTest, InfoReadsTheIndexAndDecodesAllWithCheck) {
  const test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  std::filesystem::copy_file(sampleRecording(), path);
  traces::Database(path, traces::Database::Mode::kCreate)
      .execute("UPDATE chunk SET body = zeroblob(length(body)) WHERE kind = 0");
  const json by_index = json::parse(ringscope("info --json " + path).out);
  EXPECT_TRUE(by_index["problems"].empty()) << by_index["problems"];
  EXPECT_EQ(by_index["events"],
            json::parse(ringscope("info --json --check " + sampleRecording()).out)["events"]);
  const auto checked = ringscope("info --json --check " + path);
  EXPECT_EQ(checked.code, 0) << checked.err;
  const json decoded = json::parse(checked.out);
  EXPECT_EQ(decoded["events"], 0);
  EXPECT_NE(decoded["problems"].dump().find("checksum differs"), std::string::npos)
      << decoded["problems"];
}

TEST(ReadingTest, InfoOfAJobWithoutAttentionNamesNoStrategy) {
  const test::RecordingCopy job(test::inSources("tests/reference/hand_recording"));
  const auto whole = ringscope("info " + job.path());
  EXPECT_NE(whole.out.find("import · ring · cp 2"), std::string::npos) << whole.out << whole.err;
  for (const char* name : {"rank-00000.jsonl", "rank-00001.jsonl"}) {
    std::string kept;
    for (const std::string& line : job.lines(name)) {
      const std::string kind = json::parse(line).value("line", "");
      if (kind == "header" || kind == "job" || kind == "group" || kind == "step" || kind == "end")
        kept += line;
    }
    job.put(name, kept);
  }
  const auto bare = ringscope("info " + job.path());
  ASSERT_EQ(bare.code, 0) << bare.err;
  EXPECT_NE(bare.out.find("import · no attention recorded\n"), std::string::npos) << bare.out;
  EXPECT_EQ(bare.out.find("import · ring"), std::string::npos) << bare.out;
}

TEST(ReadingTest, DiffAndDoctorAnswerNoForTheSampleWithAMistake) {
  const auto diff = ringscope("diff --json " + sampleRecording());
  EXPECT_EQ(diff.code, 1) << diff.err;
  EXPECT_GT(json::parse(diff.out)["diverging"].get<int>(), 0);
  const auto doctor = ringscope("doctor --json " + sampleRecording());
  EXPECT_EQ(doctor.code, 1) << doctor.err;
  const json findings = json::parse(doctor.out)["findings"];
  ASSERT_EQ(findings.size(), 1u) << "what a rule explains is no unknown mistake beside it";
  EXPECT_EQ(findings[0]["rule"], "missing_position_ids");
}

TEST(ReadingTest, TheDoctorWritesForReviewAndForContinuousIntegrationToo) {
  test::TempDir dir;
  const std::string sarif = dir.file("a b.sarif"), junit = dir.file("junit.xml");
  const auto doctor =
      ringscope("doctor " + sampleRecording() + " --sarif '" + sarif + "' --junit " + junit);
  EXPECT_EQ(doctor.code, 1) << doctor.err;
  const json report = json::parse(std::ifstream(sarif));
  EXPECT_EQ(report["version"], "2.1.0");
  const json& driver = report["runs"][0]["tool"]["driver"];
  const std::string version = "ringscope " + driver["version"].get<std::string>();
  EXPECT_TRUE(ringscope("--version").out.starts_with(version + " ("));
  const json& result = report["runs"][0]["results"].at(0);
  EXPECT_EQ(result["ruleId"], "missing_position_ids");
  EXPECT_EQ(driver["rules"][result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
  const auto parsed = test::runProgram(
      "/usr/bin/env", "python3 -c \"import xml.etree.ElementTree as e; s = e.parse('" + junit +
                          "').getroot()[0]; print(s.get('failures'), len(s.findall('*/failure')), "
                          "s.get('tests') == str(len(s.findall('testcase'))))\"");
  EXPECT_EQ(parsed.out, "1 1 True\n") << parsed.err;
}

TEST(ReadingTest, ABaselineAcceptsWhatIsKnownAndOnlyThat) {
  test::TempDir dir;
  const std::string known = dir.file("known.json"), none = dir.file("none.json");
  std::ofstream(known) << ringscope("doctor --json " + sampleRecording()).out;
  std::ofstream(none) << R"({"findings": []})";
  const auto accepted = ringscope("doctor " + sampleRecording() + " --baseline " + known);
  EXPECT_EQ(accepted.code, 0) << accepted.out << accepted.err;
  EXPECT_NE(accepted.out.find("1 of 1 finding known to " + known), std::string::npos);
  EXPECT_EQ(ringscope("doctor " + sampleRecording() + " --baseline " + none).code, 1);
  const auto as_json = ringscope("doctor --json " + sampleRecording() + " --baseline " + known);
  EXPECT_EQ(json::parse(as_json.out)["baseline"]["accepted"].size(), 1u) << as_json.out;
}

TEST(ReadingTest, TheDoctorIsStrictAboutNamedRulesOnly) {
  const std::string job = test::inSources("tests/reference/hand_recording");
  EXPECT_EQ(ringscope("doctor " + job).code, 0);
  const auto strict = ringscope("doctor " + job + " --strict");
  EXPECT_EQ(strict.code, 1) << strict.out;
  const std::size_t required = strict.out.find("required by --strict:\n");
  ASSERT_NE(required, std::string::npos) << strict.out;
  EXPECT_NE(strict.out.find("\n  clip_before_reduce\n", required), std::string::npos) << strict.out;
  for (const char* list : {" --strict=dropped_hop,naive_sum_merge", " --strict dropped_hop"})
    EXPECT_EQ(ringscope("doctor " + job + list).code, 0) << list;
  const auto named = ringscope("doctor --strict=dropped_hop,clip_before_reduce --json " + job);
  EXPECT_EQ(named.code, 1) << named.err;
  EXPECT_EQ(json::parse(named.out)["strict"]["not_observable"], json({"clip_before_reduce"}));
  expectOneSentence(ringscope("doctor " + job + " --strict=no_such_rule"), "no_such_rule");
}

TEST(ReadingTest, AWrongBaselineAndAReportOverItsInputAreRefused) {
  test::TempDir dir;
  const std::string wrong = dir.file("wrong.json");
  for (const char* text : {"{", "[]", "7", R"({"findings": 7})", R"({"findings": [{"rule": 1}]})",
                           R"({"findings": [{"rule": [], "rank": {}, "layer": 0, "direction": "",
                              "stage": 0, "buffer": ""}]})"}) {
    std::ofstream(wrong) << text;
    expectOneSentence(ringscope("doctor " + sampleRecording() + " --baseline " + wrong), wrong);
  }
  expectOneSentence(ringscope("doctor " + sampleRecording() + " --baseline /no/such"),
                    "no such file");
  expectOneSentence(ringscope("doctor " + wrong + " --sarif " + wrong), "--sarif");
  expectOneSentence(ringscope("doctor " + sampleRecording() + " --junit /no/such/folder/x"),
                    "there is no folder /no/such/folder");
}

TEST(ReadingTest, TheCatalogueIsPrinted) {
  const auto list = json::parse(ringscope("mistakes --json").out);
  ASSERT_EQ(list.size(), traces::mistakeCatalogue().size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["id"], traces::mistakeCatalogue()[i].id);
    EXPECT_EQ(list[i]["injectable"], traces::mistakeCatalogue()[i].injectable);
  }
  const auto text = ringscope("mistakes").out;
  EXPECT_NE(text.find("naive_sum_merge  [--mistake]  [doctor]"), std::string::npos);
  EXPECT_NE(text.find("needs: train; a --cp or --dp above 1; documents that end unevenly"),
            std::string::npos)
      << "mean_of_local_means";
}

TEST(ReadingTest, BadInputIsOneClearSentenceAndExitCode2) {
  expectOneSentence(ringscope("info " + test::sampleText()), "not a RingScope trace");
  expectOneSentence(ringscope("doctor /no/such.rscope"), "no such file");
  expectOneSentence(ringscope("diff"), "TRACE is required");
  expectOneSentence(ringscope("nonsense"), "there is no command 'nonsense'");
}

/// A copy of ringscope in a folder of its own, as in a viewer's installation.
class AloneTest : public testing::Test {
 protected:
  AloneTest() { std::filesystem::copy_file(test::kProgram, program_); }
  test::Result alone(const std::string& arguments) { return test::runProgram(program_, arguments); }

  test::TempDir dir_;
  std::string program_ = dir_.file("ringscope");
};

TEST_F(AloneTest, ReadsRecordings) {
  EXPECT_EQ(alone("info " + sampleRecording()).code, 0);
  EXPECT_EQ(alone("doctor " + sampleRecording()).code, 1);
}

TEST_F(AloneTest, ACommandOfTheEngineSaysWhatIsMissing) {
  for (const char* command : {"train --text x", "attend --help", "bench attention"})
    expectOneSentence(alone(command), "needs the engine");
  expectOneSentence(alone("gui"), "the window is not installed");
}

TEST_F(AloneTest, BecomesTheEngineBesideItInTheSameProcess) {
  const std::string engine = dir_.file("ringscope-engine");
  std::ofstream(engine) << "#!/bin/sh\necho $$\nprintf '[%s]' \"$@\"\nexit 7\n";
  std::filesystem::permissions(engine, std::filesystem::perms::owner_all);
  const auto result = test::runProgram("sh -c 'echo $$; exec \"$0\" \"$@\"' " + program_,
                                       "train --text 'a b' --json");
  EXPECT_EQ(result.code, 7) << result.err;
  std::istringstream out(result.out);
  std::string process, engine_process, arguments;
  out >> process >> engine_process >> std::ws;
  std::getline(out, arguments);
  EXPECT_EQ(engine_process, process);
  EXPECT_EQ(arguments, "[train][--text][a b][--json]");
}

TEST(ReadingTest, ProgramsAreAlsoFoundInTheFolderOfTheCommandThatStartedThem) {
  const test::TempDir dir;
  std::ofstream(dir.file("ringscope-elsewhere")) << "#!/bin/sh\n";
  EXPECT_EQ(traces::programBeside("ringscope-elsewhere"), "");
  ::setenv("RINGSCOPE_PROGRAMS", dir.file("").c_str(), 1);
  const std::string found = traces::programBeside("ringscope-elsewhere");
  ::unsetenv("RINGSCOPE_PROGRAMS");
  EXPECT_TRUE(std::filesystem::equivalent(found, dir.file("ringscope-elsewhere"))) << found;
}

}  // namespace
}  // namespace ringscope
