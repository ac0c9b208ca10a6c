// SPDX-License-Identifier: Apache-2.0
// A kill -9 of the process above the ranks, a supervisor or a window, at any moment. The recording
// must be readable and state its true end, and nothing may be left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/campaign.h"
#include "tests/support/child_program.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/ending.h"

namespace ringscope {
namespace {

namespace fs = std::filesystem;
using test::Campaign;
using test::Child;

/// A window's engine has a low priority, so it can take long on a busy machine.
constexpr auto kLongPatience = std::chrono::seconds(90);

/// The processes and folders of one case. Every descendant inherits a mark in its environment.
class Playground {
 public:
  Playground() {
    for (const char* folder : {"tmp", "home", "runtime"}) fs::create_directory(dir_.file(folder));
    fs::permissions(dir_.file("runtime"), fs::perms::owner_all);  // Qt requires this mode
  }
  ~Playground() {
    for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
  }
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  /// Sets the environment in a child, before it becomes the program.
  void enter() const {
    ::setenv("RINGSCOPE_PLAYGROUND", dir_.file("").c_str(), 1);
    ::setenv("TMPDIR", dir_.file("tmp").c_str(), 1);
    ::setenv("HOME", dir_.file("home").c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", dir_.file("runtime").c_str(), 1);
    ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
    for (const char* name : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DISPLAY"})
      ::unsetenv(name);
  }
  std::string file(const std::string& name) const { return dir_.file(name); }

  /// Returns the running processes. A process that has ended but is not yet waited for has no
  /// environment any more.
  std::vector<pid_t> processes() const {
    const std::string mark = "RINGSCOPE_PLAYGROUND=" + dir_.file("");
    std::vector<pid_t> found;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/proc", gone)) {
      const std::string name = entry.path().filename();
      if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
        continue;
      if (test::readContent(entry.path() / "environ").find(mark + '\0') != std::string::npos)
        found.push_back(std::stoi(name));
    }
    return found;
  }
  void expectNothingLeft() const {
    EXPECT_TRUE(test::eventually([this] { return processes().empty(); }, kLongPatience)) << said();
    EXPECT_TRUE(fs::is_empty(dir_.file("tmp"))) << fs::directory_iterator(dir_.file("tmp"))->path();
  }

 private:
  std::string said() const {
    std::string text;
    for (const pid_t pid : processes()) {
      std::string words = test::readContent("/proc/" + std::to_string(pid) + "/cmdline");
      std::replace(words.begin(), words.end(), '\0', ' ');
      text += "runs on: " + words + "\n";
    }
    return text;
  }

  test::TempDir dir_;
};

bool records(const std::string& trace) {
  try {
    return traces::openTrace(trace)->eventCount() > 200;
  } catch (const Error&) {  // the file does not exist yet
    return false;
  }
}

/// Waits for any moment: in half of the cases until the run records, otherwise while it is
/// starting.
void waitForAnyMoment(const std::string& trace, Campaign& campaign) {
  const bool begins = campaign.random()() % 2 == 0;
  if (!begins) {
    EXPECT_TRUE(test::eventually([&] { return records(trace); }, kLongPatience));
  }
  campaign.anyMoment(std::chrono::milliseconds(begins ? 3000 : 100));
}

/// Expects a true ending if anything was recorded. A run that was just starting has an empty file.
void expectHonestTrace(const std::string& path, bool may_have_stopped) {
  if (!fs::exists(path) || fs::file_size(path) == 0) return;
  const auto trace = traces::openTrace(path);
  EXPECT_NO_THROW(trace->readEvents());
  const auto& problems = trace->problems();
  if (may_have_stopped && problems.empty()) return;
  ASSERT_FALSE(problems.empty()) << "it claims to be whole";
  EXPECT_NE(problems.back().find("cut"), std::string::npos) << problems.back();
}

TEST(KillFaultTest, AKilledSupervisorTakesItsRanksAlongAndLeavesATraceThatOpens) {
  for (Campaign campaign(3, 5); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    const Playground playground;
    const std::string trace = playground.file("t.rscope");
    auto arguments = test::longRun(trace);
    const std::string ranks = campaign.random()() % 2 == 0 ? "2" : "4";
    arguments.insert(arguments.end(), {"--launch", "processes", "--cp", ranks});
    Child supervisor(arguments, playground.file("said"), [&] { playground.enter(); });
    waitForAnyMoment(trace, campaign);
    supervisor.signal(SIGKILL);
    EXPECT_EQ(supervisor.wait(), -SIGKILL) << test::readContent(playground.file("said"));
    playground.expectNothingLeft();
    expectHonestTrace(trace, false);
  }
}

TEST(KillFaultTest, AKilledWindowTakesItsRunAlongAndLeavesATraceThatOpens) {
  if (*test::kWindow == '\0') GTEST_SKIP() << "this build has no window";
  for (Campaign campaign(3, 5); campaign.next();) {
    SCOPED_TRACE(campaign.text());
    const Playground playground;
    const std::string trace = playground.file("t.rscope"), config = playground.file("run.json");
    const std::string launch = campaign.random()() % 2 == 0 ? "threads" : "processes";
    std::ofstream(config) << R"({"text": [")" << test::sampleText()
                          << R"("], "steps": 100000, "seq_len": 64, "cp": 2, "launch": ")" << launch
                          << R"(", "transport": "gloo", "trace": ")" << trace << R"("})";
    SCOPED_TRACE("over " + launch);
    Child window(
        {"--run", config}, playground.file("said"), [&] { playground.enter(); }, test::kWindow);
    waitForAnyMoment(trace, campaign);
    window.signal(SIGKILL);
    EXPECT_EQ(window.wait(), -SIGKILL) << test::readContent(playground.file("said"));
    playground.expectNothingLeft();
    expectHonestTrace(trace, true);
  }
}

}  // namespace
}  // namespace ringscope
