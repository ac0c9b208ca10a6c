// SPDX-License-Identifier: Apache-2.0
#include "engine/control/rank_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "traces/core/error.h"

namespace ringscope::engine {

using nlohmann::json;

int RankLink::inheritedDescriptor() {
  const char* fd = std::getenv(kVariable);
  return fd ? std::atoi(fd) : -1;
}

std::int64_t RankLink::inheritedClock() {
  const char* start = std::getenv(kClockVariable);
  return start ? std::atoll(start) : 0;
}

RankLink::RankLink(int descriptor, std::shared_ptr<traces::FrameWriter> writer, ControlledRun& run)
    : descriptor_(descriptor), writer_(std::move(writer)), run_(run) {
  thread_ = std::thread([this] { loop(); });
}

RankLink::~RankLink() {
  closing_ = true;
  thread_.join();
}

void RankLink::loop() {
  constexpr int kPatienceMs = 20;
  while (!closing_) {
    pollfd ready{descriptor_, POLLIN, 0};
    if (::poll(&ready, 1, kPatienceMs) > 0 && !readRequests()) return;
  }
}

/// False when the supervisor has gone away.
bool RankLink::readRequests() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  decoder_.feed(buffer.data(), static_cast<std::size_t>(n));
  while (const auto frame = decoder_.next())
    answer(json::parse(frame->body.begin(), frame->body.end(), nullptr, false));
  return true;
}

void RankLink::answer(const json& request) {
  json reply = {{"ok", true}};
  try {
    reply.update(granted(request));
  } catch (const Error& error) {
    reply = {{"ok", false}, {"error", error.what()}};
  }
  reply["id"] = request.value("id", 0);
  writer_->send(traces::encodeJsonFrame(reply.dump()));
}

json RankLink::granted(const json& request) {
  const auto cmd = request.value("cmd", std::string());
  if (cmd == "tensors") return {{"tensors", run_.tensors()}};
  if (cmd == "read") return run_.read(request);
  if (cmd == "inject" || cmd == "lift")
    return {{"from_train_step", run_.change(cmd, request.value("mistake", ""))}};
  if (cmd == "capture") run_.setCapture(request.value("policy", ""));
  if (cmd == "non_finite") run_.breakOnNonFinite(request.value("on", false));
  if (cmd == "flush") {
    run_.flush();
    const auto stats = run_.stats();
    return {{"dropped_events", stats.dropped_events}, {"dropped_tensors", stats.dropped_tensors}};
  }
  return json::object();
}

}  // namespace ringscope::engine
