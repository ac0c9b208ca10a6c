// SPDX-License-Identifier: Apache-2.0
// Disturbances of a run from outside at any of its stages. The run must end with a documented exit
// code and a sentence, never by a crash and never late, and its recording must open.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <functional>

#include "tests/support/campaign.h"
#include "tests/support/child_program.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope {
namespace {

namespace fs = std::filesystem;
using test::Campaign;
using test::Child;

/// The folder of a run's outputs, on a small disk of its own when this process may mount one.
class OutputFolder {
 public:
  explicit OutputFolder(const std::string& path) : path_(path) {
    fs::create_directory(path_);
    is_disk_ = ::mount("none", path_.c_str(), "tmpfs", 0, "size=64m") == 0;
  }
  ~OutputFolder() {
    if (is_disk_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  bool isDisk() const { return is_disk_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_disk_ = false;
};

/// A run that is disturbed.
struct Victim {
  const Child& child;
  const OutputFolder& folder;
  std::mt19937& random;

  /// Sets a limit of the run, unless it has ended.
  void limit(__rlimit_resource what, rlim_t value) const {
    rlimit limits{};
    if (::prlimit(child.pid(), what, nullptr, &limits) != 0) return;
    limits.rlim_cur = std::min(value, limits.rlim_max);
    ::prlimit(child.pid(), what, &limits, nullptr);
  }
};

void fillDisk(const Victim& run) {
  std::ofstream out(run.folder.file("filler"), std::ios::binary);
  const std::string block(4096, 'x');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

/// Limits memory before the run starts, as a shell does: from less than the engine's libraries need
/// to more than a run takes.
void limitMemoryOfChild(unsigned drawn) {
  constexpr rlim_t kMiB = rlim_t{1} << 20;
  const rlimit limits{(1024 + drawn % 2560) * kMiB, RLIM_INFINITY};
  ::setrlimit(RLIMIT_AS, &limits);
}

/// Limits memory to the current address space and a little more.
void limitMemory(const Victim& run) {
  std::ifstream in("/proc/" + std::to_string(run.child.pid()) + "/statm");
  rlim_t pages = 0;
  in >> pages;
  run.limit(RLIMIT_AS, pages * 4096 + run.random() % (std::size_t{64} << 20));
}

void removeFolder(const Victim& run) {
  std::error_code ignored;  // the mounted folder itself stays
  for (const auto& entry : fs::directory_iterator(run.folder.path(), ignored))
    fs::remove_all(entry.path(), ignored);
  fs::remove(run.folder.path(), ignored);
}

struct Hardship {
  const char* name;
  int signal;  ///< signal that asks the run to stop; 0: none
  std::function<void(const Victim&)> befall;
};

const std::vector<Hardship> kHardships = {
    {"ctrl_c", SIGINT, [](const Victim& run) { run.child.signal(SIGINT); }},
    {"sigterm", SIGTERM, [](const Victim& run) { run.child.signal(SIGTERM); }},
    {"two_signals", SIGINT,
     [](const Victim& run) {
       run.child.signal(SIGINT);
       run.child.signal(SIGINT);
     }},
    {"full_disk", 0, [](const Victim& run) { fillDisk(run); }},
    {"removed_folder", 0, [](const Victim& run) { removeFolder(run); }},
    {"read_only_disk", 0,
     [](const Victim& run) {
       ::mount("none", run.folder.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64m");
     }},
    {"ulimit_f", 0,
     [](const Victim& run) { run.limit(RLIMIT_FSIZE, run.random() % (std::size_t{1} << 20)); }},
    {"ulimit_n", 0, [](const Victim& run) { run.limit(RLIMIT_NOFILE, run.random() % 24); }},
    {"ulimit_v", 0, [](const Victim& run) { limitMemory(run); }},
};

constexpr int kSteps = 6;
const int kSample = static_cast<int>(kHardships.size());

/// Returns the number of steps that the run has logged.
long stepsDone(const OutputFolder& folder) {
  const std::string log = test::readContent(folder.file("log"));
  return std::count(log.begin(), log.end(), '\n');
}

/// Waits for a stage: 0 before the first step, 1 while it records, 2 while it verifies, 3 when all
/// steps are done.
void waitForStage(int stage, const OutputFolder& folder, const Child& child, Campaign& campaign) {
  const long steps[] = {0, 1, 3, kSteps};
  test::eventually([&] { return stepsDone(folder) >= steps[stage] || !child.isRunning(); });
  campaign.anyMoment(std::chrono::milliseconds(stage == 0 ? 2000 : stage == 3 ? 30 : 150));
}

/// Reports whether a line is OpenMP's message about refused memory, which cannot be suppressed.
bool isOfOpenMP(const std::string& line) {
  return line.empty() || line.starts_with("libgomp: ");
}

/// Expects that every line is a sentence of this program, and that a failure is reported.
void expectSentences(const std::string& said, int code) {
  std::istringstream lines(said);
  int sentences = 0;
  for (std::string line; std::getline(lines, line);) {
    if (isOfOpenMP(line)) continue;
    EXPECT_TRUE(line.starts_with("ringscope: ")) << said;
    ++sentences;
  }
  if (code > 0) {
    EXPECT_GT(sentences, 0) << "nothing was said";
  }
}

TEST(HardshipFaultTest, ReportsTooLittleMemoryForTheEngineBeforeARunStarts) {
  const auto result = test::runProgram(std::string("ulimit -v 300000; ") + test::kProgram,
                                       "train --steps 1 --text " + test::sampleText());
  test::expectOneSentence(result, "does not fit into 293 MiB of memory");
}

TEST(HardshipFaultTest, ADisturbedRunEndsAsDocumentedAndItsTraceOpens) {
  for (Campaign campaign(kSample, 4); campaign.next();) {
    const Hardship& hardship = kHardships[campaign.number() % kHardships.size()];
    const int stage = static_cast<int>(campaign.random()() % 4);
    const bool processes = campaign.random()() % 4 == 0;
    SCOPED_TRACE(campaign.text() + ": " + hardship.name + " at stage " + std::to_string(stage) +
                 (processes ? " of processes" : ""));
    test::TempDir dir;
    const OutputFolder folder(dir.file("out"));
    if (!folder.isDisk() && std::string(hardship.name).ends_with("_disk")) continue;
    const std::string trace = folder.file("t.rscope");
    const unsigned memory = campaign.random()();
    const bool from_the_start = stage == 0 && std::string(hardship.name) == "ulimit_v";
    Child child({"train", "--text", test::sampleText(), "--cp", "2", "--seq-len", "64", "--verify",
                 "--steps", std::to_string(kSteps), "--capture", "full", "--trace", trace, "--log",
                 folder.file("log"), "--launch", processes ? "processes" : "threads"},
                dir.file("err"), [&] {
                  if (from_the_start) limitMemoryOfChild(memory);
                });
    waitForStage(stage, folder, child, campaign);
    if (!from_the_start) hardship.befall({child, folder, campaign.random()});
    const int code = child.waitAtMost(std::chrono::seconds(90));
    const std::string said = test::readContent(dir.file("err"));
    // Before it listens for signals a run has done nothing yet, and a signal kills it like any
    // program.
    const bool killed_early = hardship.signal > 0 && code == -hardship.signal && stage == 0;
    EXPECT_TRUE(code == 0 || code == 2 || code == 3 || killed_early) << code << ": " << said;
    expectSentences(said, code);
    if (fs::exists(trace)) {
      EXPECT_NO_THROW(traces::openTrace(trace)->readEvents());
    }
  }
}

}  // namespace
}  // namespace ringscope
