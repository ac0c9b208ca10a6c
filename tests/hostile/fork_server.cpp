// SPDX-License-Identifier: Apache-2.0
// Carries out the requests that it reads from standard input. Each request runs in a forked
// process, which needs no start, so that hundreds of files are opened in seconds even under the
// sanitizers.
//
// A request is a line of JSON: a list of jobs. A job has a working folder, an action and its words:
// [["/a/folder", "command", "info", "a.rscope"], ["/a/folder", "scenes", "a.rscope"]]. The answer
// is also a line: the output of each job, the CPU time that it took, and how the process ended.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/hostile/actions.h"
#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"

namespace ringscope::test {
namespace {

using nlohmann::json;

// Limits per job: CPU time, because other programs may share the CPU, and wall time, for a job that
// waits forever.
constexpr int kSecondsPerJob = 30;
constexpr unsigned kClockSecondsPerJob = 240;
constexpr long kMostKiB = 1 << 20;
constexpr int kTooMuchMemory = 99;

const std::map<std::string, Answer (*)(const Words&)> kActions = {
    {"command", runCommand}, {"scenes", makeScenes},     {"tensors", readTensors},
    {"model", readModel},    {"settings", readSettings}, {"frames", readFrames}};

/// A file without a name for the output of a child.
class Said {
 public:
  Said() : file_(std::tmpfile()) {}
  ~Said() { std::fclose(file_); }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  int descriptor() const { return fileno(file_); }
  std::string text() const {
    std::string text(static_cast<std::size_t>(::lseek(descriptor(), 0, SEEK_END)), '\0');
    const ssize_t got = ::pread(descriptor(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  std::FILE* file_;
};

/// Ends the process before it uses up the machine's memory.
void watchMemory() {
  std::thread([] {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      long pages = 0, resident = 0;
      std::ifstream("/proc/self/statm") >> pages >> resident;
      if (resident * (sysconf(_SC_PAGESIZE) >> 10) > kMostKiB) ::_exit(kTooMuchMemory);
    }
  }).detach();
}

bool isOneLineText(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
  });
}

double processorSeconds() {
  timespec used = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void limitTime() {
  const itimerval limit = {{0, 0}, {kSecondsPerJob, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  ::alarm(kClockSecondsPerJob);
}

json describe(const Answer& answer, const Words& words, double seconds) {
  const bool asks_json = std::find(words.begin(), words.end(), "--json") != words.end();
  return {{"exit", answer.exit_code},
          {"seconds", seconds},
          {"err", traces::toUtf8(answer.err)},
          {"plain_text", traces::isUtf8(answer.out) && traces::isUtf8(answer.err) &&
                             isOneLineText(answer.out) && isOneLineText(answer.err)},
          {"out_bytes", answer.out.size()},
          {"out", traces::toUtf8(answer.out.substr(0, 300))},
          {"json", asks_json && answer.exit_code < 2 ? json(json::accept(answer.out)) : json()}};
}

void perform(const json& jobs, int said) {
  watchMemory();
  for (const json& job : jobs) {
    auto words = job.get<Words>();
    if (::chdir(words.at(0).c_str()) != 0) ::_exit(97);
    const std::string what = words.at(1);
    words.erase(words.begin(), words.begin() + 2);
    limitTime();
    const double begin = processorSeconds();
    const Answer answer = kActions.at(what)(words);
    const std::string line = describe(answer, words, processorSeconds() - begin).dump() + "\n";
    if (::write(said, line.data(), line.size()) < 0) ::_exit(98);
  }
  ::_exit(0);
}

json answer(const json& jobs) {
  const Said said, errors;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(errors.descriptor(), STDERR_FILENO);
    perform(jobs, said.descriptor());
  }
  int status = 0;
  rusage usage = {};
  ::wait4(child, &status, 0, &usage);
  json results = json::array();
  std::istringstream lines(said.text());
  for (std::string line; std::getline(lines, line);) results.push_back(json::parse(line));
  return {{"results", results},
          {"exit", WIFEXITED(status) ? json(WEXITSTATUS(status)) : json()},
          {"signal", WIFSIGNALED(status) ? json(WTERMSIG(status)) : json()},
          {"kib", usage.ru_maxrss},
          {"errors", traces::toUtf8(errors.text().substr(0, 4000))}};
}

}  // namespace
}  // namespace ringscope::test

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << ringscope::test::answer(nlohmann::json::parse(line)).dump() << std::endl;
}
