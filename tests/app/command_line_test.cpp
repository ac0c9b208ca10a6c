// SPDX-License-Identifier: Apache-2.0
// The command line as scripts use it: exit codes, sentences, files, signals.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/support/child_program.h"
#include "tests/support/files.h"
#include "traces/diff/summary.h"
#include "traces/query/trace.h"
#include "traces/safetensors/safetensors.h"
#include "traces/storage/sealed.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::Child;
using test::longRun;
using test::reference;
using test::sampleText;
using test::waitForEvents;

struct Result {
  int code = -1;
  std::string out, err;
};

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result ringscope(const std::string& arguments) {
  test::TempDir dir;
  const std::string command = std::string(RINGSCOPE_PROGRAM) + " " + arguments + " >" +
                              dir.file("out") + " 2>" + dir.file("err") + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(dir.file("out")),
          slurp(dir.file("err"))};
}

std::string sampleRun(const std::string& trace, const std::string& more = "") {
  return "train --text " + sampleText() + " --steps 2 --seq-len 64 --verify --trace " + trace +
         " " + more;
}

void expectOneSentence(const Result& result, const std::string& words) {
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST(CommandLineTest, EveryCommandHasHelp) {
  for (const char* command :
       {"", "train", "attend", "bench", "diff", "doctor", "mistakes", "info", "gui"}) {
    const auto result = ringscope(std::string(command) + " --help");
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_NE(result.out.find("Usage"), std::string::npos) << command;
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
  expectOneSentence(ringscope("train"), "nothing to train on");
  expectOneSentence(ringscope(text + "--trace /no/such/folder/t.rscope"), "cannot be written");
  expectOneSentence(ringscope(text + "--trace " + sampleText()), "is not a trace");
  expectOneSentence(ringscope(text + "--log /no/such/folder/l"), "cannot be written");
  expectOneSentence(ringscope(text + "--mistake lse_overflow"), "cannot be injected");
  expectOneSentence(ringscope(text + "--mistake nonsense"), "not in the catalogue");
  expectOneSentence(ringscope(text + "--capture everything"), "none, stats, full");
  expectOneSentence(ringscope(text + "--mask full --balance head_tail"), "use --balance none");
  expectOneSentence(ringscope(text + "--dp 2"), "a --batch that --dp divides");
  expectOneSentence(ringscope(text + "--strategy ulysses --cp 8"), "8 Ulysses ranks");
  expectOneSentence(ringscope(text + "--launch processes --transport local"),
                    "needs --transport gloo");
  expectOneSentence(ringscope(text + "--tp 3"), "do not divide among tp = 3");
  expectOneSentence(ringscope(text + "--resume"), "--checkpoint DIR");
  expectOneSentence(ringscope("attend " + reference("attention/causal.safetensors") + " -o " +
                              dir.file("o") + " --dropout 0.1 --verify"),
                    "leave one out");
  expectOneSentence(ringscope("attend " + reference("attention/documents.safetensors") + " -o " +
                              dir.file("o") + " --balance per_document"),
                    "pad it with --pad");
  expectOneSentence(ringscope("attend " + dir.file("none") + " -o " + dir.file("o")),
                    "no such file");
  expectOneSentence(ringscope("info " + sampleText()), "not a RingScope trace");
  expectOneSentence(ringscope("doctor /no/such.rscope"), "no such file");
  expectOneSentence(ringscope("nonsense"), "");
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

TEST(CommandLineTest, AMistakeIsFoundWithExitCode1AndStaysSealed) {
  test::TempDir dir;
  const std::string trace = dir.file("a.rscope");
  for (const char* id : {"missing_position_ids", "naive_sum_merge", "missing_cp_grad_reduce"}) {
    ASSERT_EQ(ringscope(sampleRun(trace, std::string("--mistake ") + id)).code, 0);
    const auto doctor = ringscope("doctor --json " + trace);
    EXPECT_EQ(doctor.code, 1);
    const auto finding = json::parse(doctor.out)["findings"].at(0);
    EXPECT_EQ(finding["rule"], id);
    for (const char* key : {"severity", "rank", "layer", "stage", "buffer", "evidence", "remedy"})
      EXPECT_TRUE(finding.contains(key)) << key;
    EXPECT_EQ(ringscope("diff " + trace).code, 1);
    // What names the mistake is there for Reveal, and what the doctor reads is the same without it.
    EXPECT_NE(traces::readSealed(trace).at(0).find(id), std::string::npos);
    ASSERT_EQ(std::system(("sqlite3 " + trace + " 'DELETE FROM sealed; VACUUM'").c_str()), 0);
    EXPECT_EQ(slurp(trace).find(id), std::string::npos);
    EXPECT_EQ(ringscope("doctor --json " + trace).out, doctor.out);
  }
}

TEST(CommandLineTest, DiffOfATraceWithoutComparisonSaysWhatToDo) {
  test::TempDir dir;
  ASSERT_EQ(ringscope("train --text " + sampleText() + " --steps 1 --seq-len 64 --trace " +
                      dir.file("a.rscope"))
                .code,
            0);
  expectOneSentence(ringscope("diff " + dir.file("a.rscope")), "record it with --verify");
}

TEST(CommandLineTest, AttendWritesResultsAndReportsHops) {
  test::TempDir dir;
  const auto result = ringscope("attend " + reference("attention/causal.safetensors") + " -o " +
                                dir.file("o.safetensors") + " --cp 4 --verify --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto report = json::parse(result.out);
  EXPECT_EQ(report["hops"][0]["kv_forward"], 3);
  EXPECT_EQ(report["hops"][0]["dkv_backward"], 4);
  EXPECT_LE(report["errors"]["dk"]["multiple"].get<double>(), 2.5);
  const auto out = traces::SafeTensorsFile::read(dir.file("o.safetensors"));
  EXPECT_EQ(out.at("lse").shape, (std::vector<std::int64_t>{2, 4, 128}));
}

TEST(CommandLineTest, TheCatalogueIsPrinted) {
  const auto list = json::parse(ringscope("mistakes --json").out);
  EXPECT_EQ(list.size(), 46u);
  int injectable = 0;
  for (const auto& mistake : list) injectable += mistake["injectable"].get<bool>();
  EXPECT_EQ(injectable, 3);
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
  for (int round = 0; round < 5; ++round) {
    const std::string path = dir.file("k" + std::to_string(round) + ".rscope");
    Child child(longRun(path));
    waitForEvents(path);
    std::this_thread::sleep_for(std::chrono::milliseconds(13 * round));
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
        EXPECT_LE(e["multiple"].get<double>(), 2.5) << tensor << " " << strategy << " cp " << cp;
    }
}

TEST(AttendCommandTest, WhatTheEnvironmentCannotMeanIsRefusedWithTheArithmetic) {
  test::TempDir dir;
  const std::string attend = "attend " + reference("attention/causal.safetensors") + " -o " +
                             dir.file("out") + " --transport gloo --launch env";
  expectOneSentence(ringscope(attend), "RANK is not set");
  setenv("RANK", "0", 1);
  setenv("WORLD_SIZE", "3", 1);
  expectOneSentence(ringscope(attend), "dp × tp × cp = 1 × 1 × 4 = 4");
  setenv("WORLD_SIZE", "four", 1);
  expectOneSentence(ringscope(attend), "is not a number");
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
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
  for (int rank = 0; rank < 4; ++rank) EXPECT_GT(trace->events(rank).size(), 20u);
}

/// What a profiler sees of a run: an injection library of our own writes it down.
TEST(NvtxTest, EveryStageIsARangeOfOurDomainWithTheTracesPayload) {
  test::TempDir dir;
  ::setenv("NVTX_INJECTION64_PATH", RINGSCOPE_NVTX_INJECTION, 1);
  ::setenv("RINGSCOPE_NVTX_LOG", dir.file("nvtx").c_str(), 1);
  const auto result = ringscope("train --text " + sampleText() +
                                " --cp 2 --steps 1 --seq-len 64 --trace " + dir.file("t.rscope"));
  ::unsetenv("NVTX_INJECTION64_PATH");
  ::unsetenv("RINGSCOPE_NVTX_LOG");
  ASSERT_EQ(result.code, 0) << result.err;
  std::map<std::string, int> ranges, events;
  std::ifstream in(dir.file("nvtx"));
  int fields = 0, pushes = 0, pops = 0;
  for (std::string line; std::getline(in, line);) {
    fields += line.starts_with("field ");
    pops += line.starts_with("pop ");
    if (line.starts_with("field ") || line.starts_with("pop ")) continue;
    ++pushes;
    ++ranges[line];
  }
  EXPECT_EQ(fields, 7);
  EXPECT_EQ(pops, pushes);
  const auto trace = traces::openTrace(dir.file("t.rscope"));
  using traces::EventKind;
  for (int rank = 0; rank < trace->worldSize(); ++rank)
    for (const traces::Event& e : trace->events(rank)) {
      if (e.kind == EventKind::kSend || e.kind == EventKind::kReceive ||
          e.kind == EventKind::kPause)
        continue;  // not stretches of a rank's own work
      std::ostringstream line;
      line << traces::name(e.kind) << " 4711 " << e.rank << " " << e.place.layer << " "
           << static_cast<int>(e.place.direction) << " " << e.place.stage << " " << e.source_rank;
      ++events[line.str()];
    }
  EXPECT_GT(events.size(), 40u);
  EXPECT_EQ(ranges, events);
}

TEST(BenchCommandTest, PutsAllStrategiesSideBySide) {
  const auto result = ringscope("bench attention --length 256 --rounds 1 --heads 4 --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const json report = json::parse(result.out);
  ASSERT_EQ(report["rows"].size(), 4u);
  for (const auto& row : report["rows"]) EXPECT_GT(row["forward_of_unsharded"].get<double>(), 0);
  expectOneSentence(ringscope("bench nothing"), "use attention, memory");
}

}  // namespace
}  // namespace ringscope
