// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/live/live_job.h"

#include <algorithm>
#include <filesystem>

#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/waits/hang_of_ranks.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

/// Creates a folder that only its owner can access, and returns its path. Appends a number when the
/// folder exists and is not empty.
std::string makeFreeFolder(const std::string& base) {
  constexpr int kMost = 100'000;
  for (int number = 1; number < kMost; ++number) {
    std::string folder = number == 1 ? base : base + "-" + std::to_string(number);
    std::error_code error;
    if (fs::exists(folder, error) && !fs::is_empty(folder, error)) continue;
    if (fs::create_directories(folder, error) && !error)
      fs::permissions(folder, fs::perms::owner_all, error);
    if (error) throw inputError(folder + " cannot be made: " + error.message());
    return folder;
  }
  throw inputError(base + " and all folders beside it that are tried hold something");
}

}  // namespace

bool JobSeen::isHere() const {
  return std::ranges::any_of(ranks, &RankSeen::here);
}

LiveJob::LiveJob(std::string folder, const StreamLimits& limits)
    : base_(std::move(folder)), limits_(limits) {}

bool LiveJob::anyHere() const {
  return std::ranges::any_of(ranks_, [](const auto& one) { return one.second.seen.here; });
}

void LiveJob::beginJob(int world_size) {
  folder_ = makeFreeFolder(base_);
  ++number_;
  world_size_ = world_size;
  ranks_.clear();
  pauses_.begin(world_size);
  verdicts_ = NewFile();
  said_waited_ns_ = 0;
  verdicts_fail_ = false;
}

void LiveJob::come(const Hello& hello, std::int64_t now_ns) {
  if (!anyHere()) beginJob(hello.world_size);
  if (hello.world_size != world_size_)
    throw inputError("a job of " + std::to_string(world_size_) +
                     " ranks is being followed; this rank is of another one, of " +
                     std::to_string(hello.world_size));
  if (ranks_.contains(hello.rank))
    throw inputError("rank " + toString(hello.rank) +
                     " of the job that is being followed has come already");
  Rank rank;
  rank.stream = std::make_unique<RankStream>(hello, folder_, limits_);
  rank.seen.rank = hello.rank;
  rank.seen.here = true;
  rank.heard_ns = now_ns;
  ranks_.emplace(hello.rank, std::move(rank));
  pauses_.come(hello.rank, hello.takes_pauses);
}

void LiveJob::feed(WorldRank rank, std::string_view bytes, std::int64_t now_ns) {
  Rank& known = ranks_.at(rank);
  known.heard_ns = now_ns;
  known.stream->feed(bytes);
  for (const RankStream::PauseWord& word : known.stream->takePauseWords())
    word.stands ? pauses_.paused(rank, word.step) : pauses_.held(rank, word.step);
  known.lines = known.stream->lines();
  known.border = known.stream->border();
  known.seen.paused = known.stream->isHeld();
  known.seen.standing = known.stream->standing();
  if (known.stream->ended() && !known.seen.ended) pauses_.leave(rank);
  known.seen.ended = known.stream->ended();
}

void LiveJob::leave(WorldRank rank) {
  Rank& known = ranks_.at(rank);
  known.stream.reset();
  known.seen.here = known.seen.paused = false;
  pauses_.leave(rank);
}

JobSeen LiveJob::seen(std::int64_t now_ns) const {
  JobSeen seen;
  seen.number = number_;
  seen.folder = folder_;
  seen.world_size = world_size_;
  seen.pause = pauses_.state();
  seen.pause_border = pauses_.border();
  seen.pause_refusal = pauses_.refusal();
  std::int64_t border = ranks_.empty() ? -1 : ranks_.begin()->second.border;
  for (const auto& [rank, known] : ranks_) {
    seen.ranks.push_back(known.seen);
    seen.ranks.back().silent_ns = std::max<std::int64_t>(0, now_ns - known.heard_ns);
    seen.lines += known.lines;
    border = std::min(border, known.border);
  }
  seen.border = static_cast<int>(ranks_.size()) == world_size_ ? border : -1;
  return seen;
}

void LiveJob::writeVerdict(std::int64_t now_ns, std::int64_t unix_ns) {
  const std::vector<RankSeen> ranks = seen(now_ns).ranks;
  if (verdicts_fail_ || !anyHere() ||
      std::ranges::any_of(ranks, [](const RankSeen& rank) { return !rank.here && !rank.ended; }))
    return;
  std::optional<Hang> hang = hangOfRanks(ranks);
  if (hang && (said_waited_ns_ == 0 || hang->waited_ns >= 2 * said_waited_ns_)) {
    said_waited_ns_ = hang->waited_ns;
    hang->by_listener = true;
    hang->unix_ns = unix_ns;
    nlohmann::json line = toJson(*hang);
    line["line"] = "waits";
    writeVerdictLine(line);
  } else if (!hang && said_waited_ns_ > 0) {
    said_waited_ns_ = 0;
    writeVerdictLine({{"line", "goes on"}, {"unix_ns", unix_ns}});
  }
}

void LiveJob::writeVerdictLine(const nlohmann::json& line) {
  verdicts_fail_ = true;  // reset when the line is written
  if (!verdicts_.isOpen()) verdicts_ = NewFile(folder_ + "/" + kListenerFile);
  verdicts_.write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  verdicts_fail_ = false;
}

}  // namespace ringscope::traces
