// SPDX-License-Identifier: Apache-2.0
// The command line as scripts use it: exit codes, sentences, files, signals.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/campaign.h"
#include "tests/support/child_program.h"
#include "tests/support/files.h"
#include "tests/support/run_program.h"
#include "traces/analysis/diff/summary.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/safetensors/safetensors.h"
#include "traces/format/storage/sealed.h"
#include "traces/format/trace/trace.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::Child;
using test::expectOneSentence;
using test::longRun;
using test::readContent;
using test::reference;
using test::ringscope;
using test::sampleText;
using test::waitForEvents;

std::string sampleRun(const std::string& trace, const std::string& more = "") {
  return "train --text " + sampleText() + " --steps 2 --seq-len 64 --verify --trace " + trace +
         " " + more;
}

TEST(CommandLineTest, EveryEngineCommandHasHelpInTheNameOfRingscope) {
  for (const char* command : {"train", "attend", "bench", "checkpoint"}) {
    const auto result = ringscope(std::string(command) + " --help");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_NE(result.out.find(std::string("Usage: ringscope ") + command), std::string::npos)
        << result.out;
  }
}

TEST(CommandLineTest, BadInputIsOneClearSentenceAndExitCode2) {
  test::TempDir dir;
  std::ofstream(dir.file("broken.safetensors")) << "0123456789";
  const std::string text = "train --text " + sampleText() + " ";
  expectOneSentence(ringscope("train --text /no/such/file"), "no such file");
  expectOneSentence(ringscope(text + "--cp 3"), "does not divide");
  expectOneSentence(ringscope("train --tokens " + dir.file("broken.safetensors")),
                    "not a safetensors file");
  expectOneSentence(ringscope("train --trace " + dir.file("t.rscope")), "nothing to train on");
  EXPECT_FALSE(std::filesystem::exists(dir.file("t.rscope"))) << "nothing ran";
  expectOneSentence(ringscope(text + "--trace /no/such/folder/t.rscope"), "cannot be written");
  expectOneSentence(ringscope(text + "--trace " + sampleText()), "is the same file as --text");
  expectOneSentence(ringscope(text + "--trace " + dir.file("broken.safetensors")),
                    "is not a trace");
  expectOneSentence(ringscope(text + "--log /no/such/folder/l"), "cannot be written");
  expectOneSentence(ringscope(text + "--cp 1 --mistake dropped_hop"),
                    "changes nothing where no block hops");
  expectOneSentence(ringscope(text + "--mistake nonsense"), "not in the catalogue");
  expectOneSentence(ringscope(text + "--capture everything"), "none, stats, full");
  expectOneSentence(ringscope(text + "--mask full --balance head_tail"), "use --balance none");
  expectOneSentence(ringscope(text + "--dp 2"), "a --batch that --dp divides");
  for (const char* numbers : {"--lr ''", "--lr 1e", "--weight-decay ''", "--max-norm 'a lot'"})
    expectOneSentence(ringscope(text + numbers), "is not a number");
  for (const char* numbers : {"--lr=-1", "--lr=nan", "--weight-decay=inf", "--max-norm=0"})
    expectOneSentence(ringscope(text + numbers), "cannot be; it is");
  expectOneSentence(ringscope(text + "--strategy ulysses --cp 8"), "8 Ulysses ranks");
  expectOneSentence(ringscope(text + "--launch processes --transport local"),
                    "needs --transport gloo");
  expectOneSentence(ringscope(text + "--tp 3"), "do not divide among tp = 3");
  expectOneSentence(ringscope(text + "--dropout 0.1 --verify"), "leave one out");
  expectOneSentence(ringscope(text + "--resume"), "--checkpoint DIR");
  expectOneSentence(ringscope(text + "--resume --checkpoint " + dir.file("c") + " --export-state " +
                              dir.file("s")),
                    "leave one out");
  expectOneSentence(ringscope("attend " + reference("attention/causal.safetensors") + " -o " +
                              dir.file("o") + " --dropout 0.1 --verify"),
                    "leave one out");
  expectOneSentence(ringscope("attend " + reference("attention/documents.safetensors") + " -o " +
                              dir.file("o") + " --balance per_document"),
                    "pad it with --pad");
  expectOneSentence(ringscope("attend " + dir.file("none") + " -o " + dir.file("o")),
                    "no such file");
}

TEST(CommandLineTest, ACorrectRunIsClearForDoctorAndDiff) {
  test::TempDir dir;
  const std::string trace = dir.file("a.rscope");
  const auto train = ringscope(sampleRun(
      trace, "--json --log " + dir.file("log") + " --export-state " + dir.file("s.safetensors")));
  ASSERT_EQ(train.code, 0) << train.err;
  EXPECT_EQ(json::parse(train.out)["steps"].size(), 2u);
  std::ifstream log(dir.file("log"));
  std::string line;
  for (int step = 0; std::getline(log, line); ++step) {
    const json entry = json::parse(line);
    EXPECT_EQ(entry["step"], step);
    for (const char* key : {"loss", "grad_norm", "targets", "peak_bytes"})
      EXPECT_TRUE(entry.contains(key)) << key;
  }
  const auto state = traces::SafeTensorsFile::read(dir.file("s.safetensors"));
  for (const char* name : {"logits", "grad.lm_head.weight", "weight.model.norm.weight"})
    EXPECT_TRUE(state.contains(name)) << name;
  EXPECT_EQ(ringscope("diff " + trace).code, 0);
  const auto doctor = ringscope("doctor --json " + trace);
  EXPECT_EQ(doctor.code, 0);
  EXPECT_TRUE(json::parse(doctor.out)["findings"].empty());
  const auto info = json::parse(ringscope("info --json " + trace).out);
  EXPECT_EQ(info["ranks"], 4);
  EXPECT_EQ(info["complete"], true);
}

TEST(CommandLineTest, ATrainingWithAttentionSinksIsRightForEveryReader) {
  test::TempDir dir;
  const std::string trace = dir.file("a.rscope");
  const auto train = ringscope(sampleRun(
      trace,
      "--sinks --recompute --tp 2 --strategy hybrid --ulysses 2 --capture full --save-model " +
          dir.file("model") + " --export-state " + dir.file("s.safetensors")));
  ASSERT_EQ(train.code, 0) << train.out << train.err;
  for (const char* command : {"diff ", "doctor ", "verify "}) {
    const auto result = ringscope(command + trace);
    EXPECT_EQ(result.code, 0) << command << result.out << result.err;
  }
  const auto state = traces::SafeTensorsFile::read(dir.file("s.safetensors"));
  const auto model = traces::SafeTensorsFile::read(dir.file("model/model.safetensors"));
  const std::string sinks = "model.layers.1.self_attn.sinks";
  EXPECT_TRUE(state.contains("grad." + sinks) && state.contains("weight." + sinks));
  EXPECT_EQ(model.at(sinks).shape, std::vector<std::int64_t>{4});
  EXPECT_TRUE(json::parse(readContent(dir.file("model/config.json")))["attention_sinks"]);
}

TEST(CommandLineTest, AMistakeIsFoundWithExitCode1AndStaysSealed) {
  test::TempDir dir;
  const std::string trace = dir.file("a.rscope");
  for (const char* id : {"missing_position_ids", "naive_sum_merge", "missing_cp_grad_reduce"}) {
    ASSERT_EQ(ringscope(sampleRun(trace, std::string("--mistake ") + id)).code, 1)
        << "--verify says that it differs";
    const auto doctor = ringscope("doctor --json " + trace);
    EXPECT_EQ(doctor.code, 1);
    const auto finding = json::parse(doctor.out)["findings"].at(0);
    EXPECT_EQ(finding["rule"], id);
    for (const char* key : {"severity", "rank", "layer", "stage", "buffer", "evidence", "remedy"})
      EXPECT_TRUE(finding.contains(key)) << key;
    EXPECT_EQ(ringscope("diff " + trace).code, 1);
    // The name of the mistake is stored for Reveal only, and the doctor's answer is the same
    // without it.
    EXPECT_NE(traces::readSealed(trace).at(0).find(id), std::string::npos);
    ASSERT_EQ(std::system(("sqlite3 " + trace + " 'DELETE FROM sealed; VACUUM'").c_str()), 0);
    EXPECT_EQ(readContent(trace).find(id), std::string::npos);
    EXPECT_EQ(ringscope("doctor --json " + trace).out, doctor.out);
  }
}

TEST(CommandLineTest, DiffOfATraceWithoutComparisonSaysWhatToDo) {
  test::TempDir dir;
  ASSERT_EQ(ringscope("train --text " + sampleText() + " --steps 1 --seq-len 64 --trace " +
                      dir.file("a.rscope"))
                .code,
            0);
  expectOneSentence(ringscope("diff " + dir.file("a.rscope")), "a run with --verify records one");
}

TEST(CommandLineTest, AttendWritesResultsAndReportsHops) {
  test::TempDir dir;
  const auto result = ringscope("attend " + reference("attention/causal.safetensors") + " -o " +
                                dir.file("o.safetensors") + " --cp 4 --verify --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = json::parse(result.out);
  EXPECT_EQ(report["hops"][0]["kv_forward"], 3);
  EXPECT_EQ(report["hops"][0]["dkv_backward"], 4);
  EXPECT_LE(report["errors"]["dk"]["ratio"].get<double>(), 1);
  const auto out = traces::SafeTensorsFile::read(dir.file("o.safetensors"));
  EXPECT_EQ(out.at("lse").shape, (std::vector<std::int64_t>{2, 4, 128}));
}

TEST(CommandLineTest, AttendMakesMistakesTooAndSealsThem) {
  test::TempDir dir;
  const auto result = ringscope("attend " + reference("attention/causal.safetensors") + " -o " +
                                dir.file("o.safetensors") + " --cp 4 --verify --json --trace " +
                                dir.file("a.rscope") + " --mistake stale_kv_in_backward");
  EXPECT_EQ(result.code, 1);
  const auto report = json::parse(result.out);
  EXPECT_LE(report["errors"]["out"]["ratio"].get<double>(), 1);
  EXPECT_GT(report["errors"]["dq"]["ratio"].get<double>(), 1);
  EXPECT_NE(traces::readSealed(dir.file("a.rscope")).at(0).find("stale_kv_in_backward"),
            std::string::npos);
}

TEST(CommandLineFaultTest, CtrlCStopsCleanlyAndLeavesACompleteTrace) {
  test::TempDir dir;
  Child child(longRun(dir.file("a.rscope")));
  waitForEvents(dir.file("a.rscope"));
  child.signal(SIGINT);
  EXPECT_EQ(child.wait(), 0);
  const auto trace = traces::openTrace(dir.file("a.rscope"));
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_TRUE(trace->end().has_value());
}

TEST(CommandLineFaultTest, ARunKilledAtAnyMomentLeavesATraceThatOpens) {
  test::TempDir dir;
  for (test::Campaign campaign(5, 3); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    const std::string path = dir.file(campaign.text() + ".rscope");
    Child child(longRun(path));
    waitForEvents(path);
    campaign.anyMoment(std::chrono::milliseconds(60));
    child.signal(SIGKILL);
    EXPECT_EQ(child.wait(), -SIGKILL);
    const auto trace = traces::openTrace(path);
    EXPECT_GT(trace->eventCount(), 200u);
    EXPECT_NE(trace->problems().back().find("cut"), std::string::npos);
  }
}

TEST(AttendCommandTest, RankProcessesOverGlooEqualOneDeviceWithEveryStrategy) {
  test::TempDir dir;
  for (const char* strategy : {"ring", "all_gather", "ulysses", "hybrid"})
    for (const int cp : {2, 4, 8}) {
      const auto result =
          ringscope("attend " + reference("attention/causal_gqa.safetensors") + " -o " +
                    dir.file("out") + " --cp " + std::to_string(cp) + " --strategy " + strategy +
                    " --transport gloo --launch processes --verify --json");
      ASSERT_EQ(result.code, 0) << strategy << " cp " << cp << " " << result.err;
      const json report = json::parse(result.out);
      EXPECT_EQ(report["hops"].size(), static_cast<std::size_t>(cp));
      for (const auto& [tensor, e] : report["errors"].items())
        EXPECT_LE(e["ratio"].get<double>(), 1) << tensor << " " << strategy << " cp " << cp;
    }
}

TEST(AttendCommandTest, RejectsAnImpossibleEnvironmentWithTheArithmetic) {
  test::TempDir dir;
  const std::string attend = "attend " + reference("attention/causal.safetensors") + " -o " +
                             dir.file("out") + " --transport gloo --launch env";
  expectOneSentence(ringscope(attend), "RANK is not set");
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "3", 1);
  expectOneSentence(ringscope(attend + " --cp 4"), "dp × tp × cp = 1 × 1 × 4 = 4");
  setenv("WORLD_SIZE", "four", 1);
  expectOneSentence(ringscope(attend), "is not a number");
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

TEST(TrainCommandTest, AJobOfOneRankNeedsNoOption) {
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "1", 1);
  setenv("MASTER_PORT", std::to_string(20'000 + getpid() % 20'000).c_str(), 1);
  const auto result =
      ringscope("train --text " + sampleText() + " --steps 1 --seq-len 64 --launch env --json");
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_PORT"}) unsetenv(name);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["steps"].at(0)["peak_bytes"].size(), 1u);
}

TEST(TrainCommandTest, InterruptedRankProcessesLeaveOneCompleteTrace) {
  test::TempDir dir;
  const std::string path = dir.file("p.rscope");
  auto arguments = longRun(path);
  arguments.insert(arguments.end(), {"--launch", "processes"});
  Child child(arguments);
  waitForEvents(path);
  child.signal(SIGINT);
  EXPECT_EQ(child.wait(), 0);
  const auto trace = traces::openTrace(path);
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_TRUE(trace->end().has_value());
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_GT(trace->events(traces::WorldRank::of(rank)).size(), 20u);
}

TEST(BenchCommandTest, PutsAllStrategiesSideBySide) {
  const auto result = ringscope("bench attention --length 256 --rounds 1 --heads 4 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const json report = json::parse(result.out);
  ASSERT_EQ(report["rows"].size(), 4u);
  for (const auto& row : report["rows"]) EXPECT_GT(row["forward_of_unsharded"].get<double>(), 0);
  expectOneSentence(ringscope("bench nothing"), "use attention, memory");
  if (!std::filesystem::exists("/dev/nvidia0")) {
    EXPECT_EQ(ringscope("bench attention --device cuda").code, 2);
  }
}

}  // namespace
}  // namespace ringscope
