// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/command_line/command.h"
#include "traces/exchange/live/listener.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

using nlohmann::json;

struct ListenOptions {
  std::string folder, address;
  double after_s = 5;
  bool json = false, keep = false;
};

/// A guard that blocks SIGINT and SIGTERM, so that `listen` can end as it does by itself.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  bool came() const {
    sigset_t pending{};
    sigpending(&pending);
    if (sigismember(&pending, SIGINT) != 1 && sigismember(&pending, SIGTERM) != 1) return false;
    int signal = 0;
    return sigwait(&signals_, &signal) == 0;
  }

 private:
  sigset_t signals_{};
};

/// A printer of the listener's events, as one line or one JSON document per event.
class Teller {
 public:
  explicit Teller(const ListenOptions& options) : options_(options) {}

  void listening(const traces::Listener& listener) const {
    if (options_.json)
      return print({{"event", "listening"},
                    {"address", traces::toUtf8(listener.address())},
                    {"token", listener.token()}});
    std::cout << "listening; start the job with\n  RINGSCOPE_LIVE=" << listener.address();
    if (!listener.token().empty()) std::cout << " RINGSCOPE_TOKEN=" << listener.token();
    std::cout << std::endl;
  }

  void tell(const traces::JobSeen& job) {
    if (job.number == 0) return tellRefused(job);
    if (job.number != number_) begin(job);
    tellRefused(job);
    if (!job.isHere()) return;  // ended() reports the rest
    const auto waits = traces::whoWaits(job.ranks);
    const bool hanging =
        traces::hangs(waits, static_cast<std::int64_t>(options_.after_s * 1'000'000'000));
    if (hanging && !hanging_) tellWaits(waits);
    if (!hanging && hanging_) say("goes on", "the job goes on", {});
    hanging_ = hanging;
  }

  /// Reports the end of the job. Returns whether all ranks wrote their last line.
  bool ended(const traces::JobSeen& job) const {
    std::vector<traces::WorldRank> cut;
    for (const traces::RankSeen& rank : job.ranks)
      if (!rank.ended) cut.push_back(rank.rank);
    const bool whole = cut.empty() && static_cast<int>(job.ranks.size()) == job.world_size;
    std::string words = traces::describeCount(static_cast<std::int64_t>(job.lines), "line") +
                        " recorded in " + traces::toPlainText(job.folder);
    // The job resumed and ended between two checks.
    if (hanging_ && whole) say("goes on", "the job goes on", {});
    if (!cut.empty())
      words = traces::describeRanks(cut) + " went away without a last line; " + words;
    say("ended", words, {{"folder", traces::toUtf8(job.folder)}, {"whole", whole}});
    return whole;
  }

 private:
  void begin(const traces::JobSeen& job) {
    number_ = job.number;
    hanging_ = false;
    say("job",
        "a job of " + traces::describeCount(job.world_size, "rank") + ", recorded in " +
            traces::toPlainText(job.folder),
        {{"ranks", job.world_size}, {"folder", traces::toUtf8(job.folder)}});
  }

  /// Prints the latest refusals that were not printed before.
  void tellRefused(const traces::JobSeen& job) {
    for (; refused_ < job.refusals; ++refused_) {
      const std::uint64_t back = job.refusals - refused_;
      if (back > job.refused.size()) continue;
      const std::string& why = job.refused[job.refused.size() - back];
      say("refused", "refused: " + why, {{"why", why}});
    }
  }

  void tellWaits(const std::vector<traces::Wait>& waits) const {
    const std::vector<std::string> lines = traces::describeWaits(waits);
    if (options_.json) return print({{"event", "waits"}, {"lines", lines}});
    for (const std::string& line : lines) std::cout << line << "\n";
    std::cout << std::flush;
  }

  void say(const char* event, const std::string& words, json more) const {
    if (!options_.json) {
      std::cout << words << std::endl;
      return;
    }
    if (more.is_null()) more = json::object();
    more["event"] = event;
    print(more);
  }

  static void print(const json& document) {
    std::cout << document.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }

  const ListenOptions& options_;
  int number_ = 0;
  bool hanging_ = false;
  std::uint64_t refused_ = 0;
};

int listen(const ListenOptions& options) {
  traces::checkWritableFolder(options.folder);
  const StopSignals signals;
  const char* token = std::getenv("RINGSCOPE_TOKEN");
  traces::Listener listener({options.address, token ? token : "", options.folder, {}});
  Teller teller(options);
  teller.listening(listener);
  std::uint64_t changes = 0;
  int over = 0;
  bool whole = true;
  while (!signals.came()) {
    const traces::JobSeen job = listener.waitForNews(changes, std::chrono::milliseconds(100));
    teller.tell(job);
    if (job.number == over || job.isHere()) continue;
    over = job.number;
    whole = teller.ended(job) && whole;
    if (!options.keep) break;
  }
  return whole ? kSuccess : kRunFailed;
}

}  // namespace

void defineListen(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<ListenOptions>();
  command
      .add_option("-o,--output", options->folder,
                  "The folder for the job's recording. A number is appended if the folder exists")
      ->required();
  command.add_option("ADDRESS", options->address,
                     "The path of a Unix socket, or 127.0.0.1:PORT. Over TCP the job must send the "
                     "token of RINGSCOPE_TOKEN (default: a random token, which is printed)");
  command
      .add_option("--after", options->after_s,
                  "Report which rank waits for which after this number of seconds without progress")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_flag("--keep", options->keep, "Wait for the next job after a job has ended");
  command.add_flag("--json", options->json, "Print one JSON document per line");
  command.footer(
      "The job must record itself (traces/recorder) with RINGSCOPE_LIVE set. Exit code 3: a rank "
      "was lost before it wrote its last line.");
  command.callback([options, &exit_code] { exit_code = listen(*options); });
}

}  // namespace ringscope::app
