// SPDX-License-Identifier: Apache-2.0
#include "engine/control/rank_hub.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "engine/control/rank_link.h"
#include "traces/core/clock.h"
#include "traces/core/error.h"

namespace ringscope::engine {

using nlohmann::json;

namespace {

constexpr auto kPatience = std::chrono::seconds(10);
constexpr int kCommitMs = 20;

/// Holds the run at a gate where every rank stands, so that all change over at one place.
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

RankHub::RankHub(Gate& gate, int ranks, int recorded,
                 std::vector<std::unique_ptr<traces::ChunkSink>> sinks,
                 std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs)
    : gate_(gate),
      start_ns_(traces::steadyNow()),
      recorded_(recorded),
      on_diffs_(std::move(on_diffs)),
      links_(static_cast<std::size_t>(ranks)),
      sinks_(std::move(sinks)),
      joiner_(ranks + 1, [this](const traces::Chunk& chunk) { sinks_.write(chunk); }) {
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

void RankHub::prepareChild(int rank) const {
  const int fd = ::dup(links_[static_cast<std::size_t>(rank)].theirs);  // without close-on-exec
  ::setenv(RankLink::kVariable, std::to_string(fd).c_str(), 1);
  ::setenv(RankLink::kClockVariable, std::to_string(start_ns_).c_str(), 1);
}

void RankHub::loop() {
  while (!closing_) {
    std::vector<pollfd> ends;
    for (const Link& link : links_) ends.push_back({link.gone ? -1 : link.ours, POLLIN, 0});
    ::poll(ends.data(), ends.size(), kCommitMs);
    for (std::size_t r = 0; r < ends.size(); ++r)
      if (ends[r].revents != 0) readFrom(static_cast<int>(r));
    flushSinks();
  }
}

bool RankHub::readFrom(int rank) {
  Link& link = links_[static_cast<std::size_t>(rank)];
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
  } catch (const Error& error) {
    setGone(link);
    const std::lock_guard lock(recording_mutex_);
    stats_.failed_sinks.push_back("rank " + std::to_string(rank) +
                                  " sent what cannot be read: " + error.what());
  }
  return true;
}

void RankHub::setGone(Link& link) {
  const std::lock_guard lock(replies_mutex_);
  link.gone = true;
  replied_.notify_all();
}

void RankHub::take(int rank, const traces::Frame& frame) {
  if (frame.type == traces::FrameType::kJson) {
    const auto reply = json::parse(frame.body.begin(), frame.body.end(), nullptr, false);
    const std::lock_guard lock(replies_mutex_);
    replies_[reply.value("id", 0)] = reply;
    replied_.notify_all();
    return;
  }
  traces::Chunk chunk = traces::decodeChunkFrame(frame);
  if (chunk.kind == traces::ChunkKind::kDiffs) on_diffs_(traces::decodeDiffs(chunk));
  const std::lock_guard lock(recording_mutex_);
  joiner_.add(rank, std::move(chunk));
  stats_.events = joiner_.events();
  dirty_ = true;
}

void RankHub::takeFailures() {
  for (std::string& failure : sinks_.takeFailures())
    stats_.failed_sinks.push_back(std::move(failure));
}

void RankHub::flushSinks() {
  const std::lock_guard lock(recording_mutex_);
  if (!dirty_) return;
  dirty_ = false;
  sinks_.flush();
  takeFailures();
}

void RankHub::note(const std::string& key, const std::string& text) {
  traces::Chunk chunk;
  chunk.kind = traces::ChunkKind::kNotes;
  chunk.rows = 1;
  chunk.body = traces::encodeNote({key, text});
  const std::lock_guard lock(recording_mutex_);
  joiner_.add(static_cast<int>(links_.size()), std::move(chunk));
  dirty_ = true;
}

void RankHub::close() {
  if (closing_.exchange(true)) return;
  thread_.join();
  for (std::size_t r = 0; r < links_.size(); ++r)
    while (readFrom(static_cast<int>(r))) {
    }
  const std::lock_guard lock(recording_mutex_);
  joiner_.finish(now());
  sinks_.close();
  takeFailures();
}

json RankHub::ask(int rank, json request) {
  std::unique_lock lock(replies_mutex_);
  const int id = next_id_++;
  request["id"] = id;
  const traces::Bytes frame = traces::encodeJsonFrame(request.dump());
  const Link& link = links_[static_cast<std::size_t>(rank)];
  const bool sent = ::send(link.ours, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
                    static_cast<ssize_t>(frame.size());
  if (sent) replied_.wait_for(lock, kPatience, [&] { return link.gone || replies_.contains(id); });
  if (!replies_.contains(id)) throw runFailed("rank " + std::to_string(rank) + " does not answer");
  json reply = std::move(replies_.extract(id).mapped());
  if (!reply.value("ok", false)) throw usageError(reply.value("error", "the rank refused"));
  return reply;
}

std::vector<json> RankHub::askAll(const json& request, int ranks) {
  std::vector<json> replies;
  for (int rank = 0; rank < ranks; ++rank) replies.push_back(ask(rank, request));
  return replies;
}

traces::Watermark RankHub::flush() {
  std::uint64_t events = 0, tensors = 0;
  for (int rank = 0; rank < recorded_; ++rank) {
    const Link& link = links_[static_cast<std::size_t>(rank)];
    if (link.gone) continue;
    try {
      const json reply = ask(rank, {{"cmd", "flush"}});
      events += reply.value("dropped_events", std::uint64_t{0});
      tensors += reply.value("dropped_tensors", std::uint64_t{0});
    } catch (const Error&) {
      if (!link.gone) throw;  // it died meanwhile, and what it sent is here
    }
  }
  const std::lock_guard lock(recording_mutex_);
  stats_.dropped_events = events;
  stats_.dropped_tensors = tensors;
  sinks_.flush();
  takeFailures();
  return {joiner_.lastSeq(), now()};
}

traces::RecorderStats RankHub::stats() const {
  const std::lock_guard lock(recording_mutex_);
  return stats_;
}

std::int64_t RankHub::now() const {
  return traces::steadyNow() - start_ns_;
}

json RankHub::tensors() {
  json all = json::array();
  for (const json& reply : askAll({{"cmd", "tensors"}}, recorded_))
    for (const json& tensor : reply.at("tensors")) all.push_back(tensor);
  return all;
}

json RankHub::read(const json& request) {
  const auto rank = request.value("rank", -1);
  if (rank < 0 || rank >= recorded_)
    throw usageError("there is no rank " + std::to_string(rank) + " to read from");
  json reply = ask(rank, request);
  reply.erase("id");
  reply.erase("ok");
  return reply;
}

std::int32_t RankHub::change(const std::string& cmd, const std::string& mistake) {
  const HeldRun held(gate_);
  std::int32_t from = 0;
  for (const json& reply :
       askAll({{"cmd", cmd}, {"mistake", mistake}}, static_cast<int>(links_.size())))
    from = std::max(from, reply.at("from_train_step").get<std::int32_t>());
  return from;
}

void RankHub::setCapture(const std::string& policy) {
  CapturePolicy::parse(policy);  // refuses what is none before any rank has changed over
  askAll({{"cmd", "capture"}, {"policy", policy}}, static_cast<int>(links_.size()));
}

void RankHub::breakOnNonFinite(bool on) {
  askAll({{"cmd", "non_finite"}, {"on", on}}, static_cast<int>(links_.size()));
}

}  // namespace ringscope::engine
