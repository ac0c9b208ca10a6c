// SPDX-License-Identifier: Apache-2.0
// The command line as scripts use it: exit codes, sentences, files, signals, the control
// connection.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/support/files.h"
#include "traces/diff/summary.h"
#include "traces/query/trace.h"
#include "traces/safetensors/safetensors.h"
#include "traces/storage/sealed.h"
#include "traces/stream/frame.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::reference;
using test::sampleText;

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
  expectOneSentence(ringscope(text + "--device cuda"), "so far");
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

/// A child process with pipes on its standard streams.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments) {
    int in[2], out[2];
    EXPECT_EQ(pipe(in) + pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      dup2(open("/dev/null", O_WRONLY), 2);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      std::vector<char*> argv{const_cast<char*>(RINGSCOPE_PROGRAM)};
      for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      execv(RINGSCOPE_PROGRAM, argv.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input = in[1];
    output = out[0];
  }
  ~Child() {
    kill(pid_, SIGKILL);
    wait();
    close(output);
    if (input >= 0) close(input);
  }
  void signal(int number) const { kill(pid_, number); }
  int wait() {
    if (!waited_) waitpid(pid_, &status_, 0);
    waited_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
  }
  int input = -1, output = -1;

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool waited_ = false;
};

std::vector<std::string> longRun(const std::string& trace) {
  return {"train",     "--text", sampleText(), "--steps", "100000",
          "--seq-len", "64",     "--trace",    trace};
}

void waitForEvents(const std::string& trace) {
  for (int i = 0; i < 500; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      if (traces::openTrace(trace)->eventCount() > 200) return;
    } catch (const Error&) {
    }
  }
  FAIL() << "nothing was recorded in 5 s";
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

TEST(TrainCommandTest, InterruptedRankProcessesCloseTheirTraces) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("p.rscope"));
  arguments.insert(arguments.end(), {"--launch", "processes"});
  Child child(arguments);
  waitForEvents(dir.file("p.rscope.0"));
  child.signal(SIGINT);
  EXPECT_EQ(child.wait(), 0);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string path = dir.file("p.rscope." + std::to_string(rank));
    EXPECT_GT(traces::openTrace(path)->eventCount(), 20u);
    EXPECT_FALSE(std::filesystem::exists(path + "-wal")) << "closed, not cut";
  }
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

/// The other end of the control connection, as the window has it.
class Debugger {
 public:
  explicit Debugger(Child& child) : child_(child) {}
  void send(const json& message) {
    const auto frame = traces::encodeJsonFrame(message.dump());
    EXPECT_EQ(write(child_.input, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  }
  /// Takes chunks in until a JSON frame with this key comes.
  json await(const std::string& key) {
    for (;;) {
      while (auto frame = decoder_.next()) {
        if (frame->type == traces::FrameType::kChunk) {
          const auto chunk = traces::decodeChunkFrame(*frame);
          trace.add(chunk);
          last_seq = chunk.seq;
          continue;
        }
        const json message = json::parse(frame->body.begin(), frame->body.end());
        if (message.contains(key)) return message;
      }
      char buffer[65536];
      const ssize_t n = read(child_.output, buffer, sizeof buffer);
      if (n <= 0) return {};
      decoder_.feed(buffer, static_cast<std::size_t>(n));
    }
  }
  json ask(const json& message) {
    send(message);
    return await("reply");
  }
  traces::Trace trace;
  std::uint64_t last_seq = 0;

 private:
  Child& child_;
  traces::FrameDecoder decoder_;
};

TEST(ControlConnectionTest, PauseStepContinueAndStopKeepTheWatermarkRule) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--control", "stdio"});
  Child child(arguments);
  Debugger debugger(child);
  EXPECT_EQ(debugger.await("hello")["hello"]["control"], 0);
  EXPECT_EQ(debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}})["ok"],
            true);
  EXPECT_EQ(debugger.ask({{"cmd", "step"}, {"unit", "stage"}})["ok"], false) << "not paused yet";
  EXPECT_EQ(debugger.ask({{"cmd", "dance"}})["ok"], false);

  const json stop = debugger.ask({{"cmd", "pause"}, {"id", 7}});
  EXPECT_EQ(stop["id"], 7);
  EXPECT_FALSE(stop["run_id"].get<std::string>().empty());
  EXPECT_GT(stop["run_clock_ns"].get<std::int64_t>(), 0);
  EXPECT_EQ(debugger.last_seq, stop["chunk_watermark"].get<std::uint64_t>())
      << "all chunks before the answer have come";
  EXPECT_EQ(debugger.ask({{"cmd", "state"}})["state"]["paused"], true);

  json place = stop["place"];
  for (int i = 0; i < 6; ++i) {
    const json next = debugger.ask({{"cmd", "step"}, {"unit", "stage"}});
    EXPECT_NE(next["place"], place);
    place = next["place"];
  }
  const json layer = debugger.ask({{"cmd", "step"}, {"unit", "layer"}})["place"];
  EXPECT_TRUE(layer["layer"] != place["layer"] || layer["direction"] != place["direction"]);
  const json step = debugger.ask({{"cmd", "step"}, {"unit", "train_step"}})["place"];
  EXPECT_EQ(step["train_step"].get<int>(), layer["train_step"].get<int>() + 1);

  const json again = debugger.ask({{"cmd", "resend"}, {"first", 1}, {"last", 3}});
  EXPECT_EQ(again["sent"], 3);
  EXPECT_EQ(debugger.ask({{"cmd", "continue"}})["ok"], true);
  EXPECT_EQ(debugger.ask({{"cmd", "stop"}})["ok"], true);
  EXPECT_EQ(debugger.await("end")["end"]["stopped"], true);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(traces::openTrace(dir.file("a.rscope"))->problems().empty());
}

TEST(ControlConnectionTest, ClosingTheInputEndsTheRunWhenHelloSaidSo) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--control", "stdio"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  close(child.input);
  child.input = -1;
  EXPECT_EQ(debugger.await("end")["end"]["stopped"], true);
  EXPECT_EQ(child.wait(), 0);
}

TEST(ControlConnectionTest, RubbishOnTheInputIsAnsweredAndNeverEndsTheRun) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--control", "stdio"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.await("hello");
  debugger.send({{"no", "cmd"}});
  EXPECT_TRUE(debugger.await("error").contains("error"));
  const std::string rubbish(64, '\xff');
  EXPECT_EQ(write(child.input, rubbish.data(), rubbish.size()), 64);
  EXPECT_NE(debugger.await("error")["error"].get<std::string>().find("impossible length"),
            std::string::npos);
  child.signal(SIGINT);
  EXPECT_EQ(debugger.await("end")["end"]["ok"], true);
}

TEST(ControlConnectionTest, ABreakStopsTheRunAndItsTensorsCanBeRead) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--control", "stdio"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  EXPECT_EQ(debugger.ask({{"cmd", "read"}, {"tensor", "q"}, {"layer", 1}})["ok"], false)
      << "a run that moves is not read";
  EXPECT_EQ(debugger.ask({{"cmd", "break"}, {"at", {{"hour", 3}}}})["ok"], false);
  EXPECT_EQ(debugger.ask({{"cmd", "break"},
                          {"at", {{"layer", 1}, {"direction", "backward"}, {"stage", 2}}}})["ok"],
            true);
  for (int round = 0; round < 3; ++round) {
    const json stopped = debugger.await("stopped");
    EXPECT_EQ(stopped["stopped"], "break");
    EXPECT_EQ(stopped["place"]["layer"], 1);
    EXPECT_EQ(stopped["place"]["direction"], "backward");
    EXPECT_EQ(stopped["place"]["stage"], 2);
    EXPECT_EQ(debugger.last_seq, stopped["chunk_watermark"].get<std::uint64_t>());
    if (round < 2) debugger.ask({{"cmd", "continue"}});
  }
  EXPECT_GT(debugger.ask({{"cmd", "tensors"}})["tensors"].size(), 20u);
  const json read = debugger.ask({{"cmd", "read"},
                                  {"rank", 2},
                                  {"tensor", "weight.model.norm.weight"},
                                  {"layer", -1},
                                  {"begin", {3}},
                                  {"end", {7}}});
  ASSERT_EQ(read["ok"], true) << read;
  EXPECT_EQ(read["values"].size(), 4u);
  for (const auto& value : read["values"]) EXPECT_NEAR(value.get<double>(), 1, 0.2);
  EXPECT_EQ(debugger.ask({{"cmd", "read"}, {"tensor", "nothing"}})["ok"], false);
  debugger.ask({{"cmd", "stop"}});
  EXPECT_EQ(child.wait(), 0);
}

TEST(ControlConnectionTest, ABreakOnDivergenceStopsTheRunThatDiverges) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(),
                   {"--control", "stdio", "--verify", "--mistake", "naive_sum_merge"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "break"}, {"on", "divergence"}});
  EXPECT_EQ(debugger.await("stopped")["stopped"], "break");
  EXPECT_FALSE(traces::divergences(debugger.trace).empty());
}

TEST(ControlConnectionTest, AMistakeIsInjectedAndLiftedBetweenStepsAndSealed) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--control", "stdio", "--verify"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  EXPECT_EQ(debugger.ask({{"cmd", "inject"}, {"mistake", "nonsense"}})["ok"], false);
  EXPECT_EQ(debugger.ask({{"cmd", "lift"}, {"mistake", "naive_sum_merge"}})["ok"], false);
  debugger.ask({{"cmd", "break"}, {"on", "divergence"}, {"multiple", 10}});
  const json injected = debugger.ask({{"cmd", "inject"}, {"mistake", "naive_sum_merge"}});
  ASSERT_EQ(injected["ok"], true) << injected;
  EXPECT_EQ(debugger.ask({{"cmd", "inject"}, {"mistake", "naive_sum_merge"}})["ok"], false);
  EXPECT_EQ(debugger.await("stopped")["stopped"], "break");
  const int wrong_from = injected["from_train_step"];
  const json lifted = debugger.ask({{"cmd", "lift"}, {"mistake", "naive_sum_merge"}});
  const int right_from = lifted["from_train_step"];
  EXPECT_GT(right_from, wrong_from);
  debugger.ask({{"cmd", "break"}, {"at", {{"train_step", right_from + 2}}}});
  debugger.ask({{"cmd", "continue"}});
  ASSERT_EQ(debugger.await("stopped")["stopped"], "break");
  debugger.ask({{"cmd", "stop"}});
  EXPECT_EQ(child.wait(), 0);
  const auto trace = traces::openTrace(dir.file("a.rscope"));
  for (const auto* diff : traces::divergences(*trace)) {
    EXPECT_GE(diff->place.train_step, wrong_from);
    EXPECT_LT(diff->place.train_step, right_from);
  }
  EXPECT_FALSE(traces::divergences(*trace).empty());
  std::string sealed;
  for (const std::string& text : traces::readSealed(dir.file("a.rscope"))) sealed += text;
  EXPECT_NE(sealed.find("\"inject\""), std::string::npos) << sealed;
  EXPECT_NE(sealed.find("\"lift\""), std::string::npos) << sealed;
}

TEST(ControlConnectionTest, CaptureChangesAndABreakOnWhatIsNotFiniteStopsTheRun) {
  test::TempDir dir;
  auto arguments = longRun(dir.file("a.rscope"));
  arguments.insert(arguments.end(), {"--control", "stdio", "--lr", "1e30", "--capture", "none"});
  Child child(arguments);
  Debugger debugger(child);
  debugger.ask({{"cmd", "hello"}, {"control", 0}, {"at_end_of_input", "stop"}});
  EXPECT_EQ(debugger.ask({{"cmd", "capture"}, {"policy", "everything"}})["ok"], false);
  EXPECT_EQ(debugger.ask({{"cmd", "break"}, {"on", "sunshine"}})["ok"], false);
  EXPECT_EQ(debugger.ask({{"cmd", "break"}, {"on", "non_finite"}})["ok"], true);
  EXPECT_EQ(debugger.ask({{"cmd", "capture"}, {"policy", "stats"}})["ok"], true);
  EXPECT_EQ(debugger.await("stopped")["stopped"], "break");
  debugger.ask({{"cmd", "stop"}});
  EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace ringscope
