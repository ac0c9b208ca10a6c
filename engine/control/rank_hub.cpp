// SPDX-License-Identifier: Apache-2.0
#include "engine/control/rank_hub.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "engine/control/rank_link.h"
#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

namespace control = traces::control;
using traces::WorldRank;

namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr int kCommitMs = 20;

/// A guard that holds the run at a gate where every rank stands, so that all ranks change at the
/// same place.
class HeldRun {
 public:
  explicit HeldRun(Gate& gate) : gate_(gate) {
    gate_.hold();
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!gate_.stoppedAt() && !gate_.over()) {
      if (std::chrono::steady_clock::now() > until) {
        gate_.release();
        throw runFailed("the ranks do not come to a gate, so nothing was changed");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ~HeldRun() { gate_.release(); }

 private:
  Gate& gate_;
};

}  // namespace

RankHub::RankHub(Gate& gate, int ranks, std::vector<std::unique_ptr<traces::ChunkSink>> sinks,
                 std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs)
    : gate_(gate),
      start_ns_(traces::steadyNow()),
      on_diffs_(std::move(on_diffs)),
      links_(static_cast<std::size_t>(ranks)),
      sinks_(std::move(sinks)),
      joiner_(ranks + 1, [this](const traces::Chunk& chunk)
                             RINGSCOPE_REQUIRES(recording_mutex_) { sinks_.write(chunk); }) {
  for (Link& link : links_) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw runFailed("the ranks cannot be connected: too many open files");
    link.ours = ends[0];
    link.theirs = ends[1];
  }
  thread_ = std::thread([this] { loop(); });
}

RankHub::~RankHub() {
  close();
  childrenStarted();
  for (const Link& link : links_) ::close(link.ours);
}

void RankHub::childrenStarted() {
  for (Link& link : links_)
    if (const int fd = std::exchange(link.theirs, -1); fd >= 0) ::close(fd);
}

void RankHub::prepareChild(WorldRank rank) const {
  const int fd = ::dup(links_[rank.index()].theirs);  // the copy has no close-on-exec flag
  ::setenv(RankLink::kVariable, std::to_string(fd).c_str(), 1);
  ::setenv(RankLink::kClockVariable, std::to_string(start_ns_).c_str(), 1);
}

std::vector<WorldRank> RankHub::ranks() const {
  std::vector<WorldRank> all;
  for (std::size_t r = 0; r < links_.size(); ++r) all.push_back(WorldRank::of(r));
  return all;
}

void RankHub::loop() {
  while (!closing_) {
    std::vector<pollfd> ends;
    for (const Link& link : links_) ends.push_back({link.gone ? -1 : link.ours, POLLIN, 0});
    ::poll(ends.data(), ends.size(), kCommitMs);
    for (std::size_t r = 0; r < ends.size(); ++r)
      if (ends[r].revents != 0) readFrom(WorldRank::of(r));
    flushSinks();
  }
}

bool RankHub::readFrom(WorldRank rank) {
  Link& link = links_[rank.index()];
  if (link.gone) return false;
  std::array<char, 1 << 16> buffer;
  const ssize_t n = ::recv(link.ours, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    setGone(link);
    return false;
  }
  try {
    link.decoder.feed(buffer.data(), static_cast<std::size_t>(n));
    while (const auto frame = link.decoder.next()) take(rank, *frame);
  } catch (const std::exception& error) {
    setGone(link);
    const traces::MutexLock lock(recording_mutex_);
    stats_.failed_sinks.push_back("rank " + toString(rank) +
                                  " sent what cannot be read: " + error.what());
  }
  return true;
}

void RankHub::setGone(Link& link) {
  const traces::MutexLock lock(replies_mutex_);
  link.gone = true;
  replied_.notifyAll();
}

void RankHub::take(WorldRank rank, const traces::Frame& frame) {
  if (frame.type == traces::FrameType::kJson) {
    takeReply(control::decodeMessage(traces::parseFrameJson(frame)));
    return;
  }
  traces::Chunk chunk = traces::decodeChunkFrame(frame);
  if (chunk.kind == traces::ChunkKind::kDiffs)
    on_diffs_(traces::decodeRows<traces::DiffRecord>(chunk));
  const traces::MutexLock lock(recording_mutex_);
  joiner_.add(rank.value(), std::move(chunk));
  stats_.events = joiner_.events();
  dirty_ = true;
}

void RankHub::takeReply(const control::Message& message) {
  const auto* reply = std::get_if<control::Reply>(&message);
  if (!reply || !reply->id) throw inputError("an answer without the number of its question");
  const traces::MutexLock lock(replies_mutex_);
  replies_[*reply->id] = reply->answer;
  replied_.notifyAll();
}

void RankHub::takeFailures() {
  for (std::string& failure : sinks_.takeFailures())
    stats_.failed_sinks.push_back(std::move(failure));
}

void RankHub::flushSinks() {
  const traces::MutexLock lock(recording_mutex_);
  if (!dirty_) return;
  dirty_ = false;
  sinks_.flush();
  takeFailures();
}

void RankHub::note(const std::string& key, const std::string& text) {
  traces::Chunk chunk = traces::makeChunk(traces::Note{key, text});
  const traces::MutexLock lock(recording_mutex_);
  joiner_.add(static_cast<int>(links_.size()), std::move(chunk));
  dirty_ = true;
}

void RankHub::close() {
  if (closing_.exchange(true)) return;
  thread_.join();
  for (const WorldRank rank : ranks())
    while (readFrom(rank)) {
    }
  const traces::MutexLock lock(recording_mutex_);
  joiner_.finish(now());
  sinks_.close();
  takeFailures();
}

control::Answer RankHub::answerFrom(WorldRank rank, const control::Request& request) {
  traces::MutexLock lock(replies_mutex_);
  const std::int64_t id = next_id_++;
  const traces::Bytes frame = control::encodeRequest(request, id);
  const Link& link = links_[rank.index()];
  const bool sent = ::send(link.ours, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                    static_cast<ssize_t>(frame.size());
  if (sent)
    replied_.waitFor(lock, kPatience, [&]() RINGSCOPE_REQUIRES(replies_mutex_) {
      return link.gone || replies_.contains(id);
    });
  if (!replies_.contains(id)) throw runFailed("rank " + toString(rank) + " does not answer");
  return std::move(replies_.extract(id).mapped());
}

template <typename Request>
typename Request::Answer RankHub::ask(WorldRank rank, const Request& request) {
  control::Answer answer = answerFrom(rank, request);
  if (const auto* refused = std::get_if<control::Refused>(&answer))
    throw usageError(refused->error);
  if (auto* given = std::get_if<typename Request::Answer>(&answer)) return std::move(*given);
  throw runFailed("rank " + toString(rank) + " answers what it was not asked");
}

template <typename Request>
std::vector<typename Request::Answer> RankHub::askAll(const Request& request) {
  std::vector<typename Request::Answer> answers;
  for (const WorldRank rank : ranks()) answers.push_back(ask(rank, request));
  return answers;
}

traces::Watermark RankHub::flush() {
  std::uint64_t events = 0, tensors = 0;
  for (const WorldRank rank : ranks()) {
    const Link& link = links_[rank.index()];
    if (link.gone) continue;
    try {
      const control::Flushed flushed = ask(rank, control::Flush{});
      events += flushed.dropped_events;
      tensors += flushed.dropped_tensors;
    } catch (const Error&) {
      if (!link.gone) throw;  // it ended meanwhile, and its records have arrived
    }
  }
  const traces::MutexLock lock(recording_mutex_);
  stats_.dropped_events = events;
  stats_.dropped_tensors = tensors;
  sinks_.flush();
  takeFailures();
  return {joiner_.lastSeq(), now()};
}

traces::RecorderStats RankHub::stats() const {
  const traces::MutexLock lock(recording_mutex_);
  return stats_;
}

std::int64_t RankHub::now() const {
  return traces::steadyNow() - start_ns_;
}

control::TensorList RankHub::tensors() {
  control::TensorList all;
  for (control::TensorList& of_rank : askAll(control::ListTensors{}))
    std::ranges::move(of_rank.tensors, std::back_inserter(all.tensors));
  return all;
}

control::TensorSlice RankHub::read(const control::ReadTensor& asked) {
  if (asked.rank.isNone() || asked.rank.index() >= links_.size())
    throw usageError("there is no rank " + toString(asked.rank) + " to read from");
  return ask(asked.rank, asked);
}

template <typename Change>
std::int32_t RankHub::change(const Change& request) {
  const HeldRun held(gate_);
  std::int32_t from = 0;
  for (const control::ChangedFrom& of_rank : askAll(request))
    from = std::max(from, of_rank.from_train_step);
  return from;
}

std::int32_t RankHub::inject(const std::string& mistake) {
  return change(control::Inject{mistake});
}

std::int32_t RankHub::lift(const std::string& mistake) {
  return change(control::Lift{mistake});
}

void RankHub::setCapture(const std::string& policy) {
  CapturePolicy::parse(policy);  // rejects a malformed policy before any rank changes
  askAll(control::SetCapture{policy});
}

void RankHub::breakOnNonFinite(bool on) {
  askAll(control::BreakOnNonFinite{on});
}

}  // namespace ringscope::engine
