// SPDX-License-Identifier: Apache-2.0
#include "engine/control/rank_link.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "traces/exchange/control/messages.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {

namespace control = traces::control;

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

/// Reads and answers requests. Returns false if the supervisor has gone away or sends malformed
/// data.
bool RankLink::readRequests() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  try {
    decoder_.feed(buffer.data(), static_cast<std::size_t>(n));
    while (const auto frame = decoder_.next()) answer(*frame);
  } catch (const std::exception& error) {
    writer_->send(control::encodeMessage(control::Failure{error.what()}));
    return false;
  }
  return true;
}

void RankLink::answer(const traces::Frame& frame) {
  control::Reply reply{"", std::nullopt, control::Granted{}};
  try {
    const auto message = traces::parseFrameJson(frame);
    const auto head = control::RequestHead::from(message);
    reply.cmd = head.cmd;
    reply.id = head.id;
    reply.answer = granted(control::decodeRequest(message));
  } catch (const std::exception& error) {  // an Error, or an exception of a library
    reply.answer = control::Refused{error.what()};
  }
  writer_->send(control::encodeMessage(reply));
}

control::Answer RankLink::granted(const control::Request& request) {
  if (std::holds_alternative<control::ListTensors>(request)) return run_.tensors();
  if (const auto* read = std::get_if<control::ReadTensor>(&request)) return run_.read(*read);
  if (const auto* inject = std::get_if<control::Inject>(&request))
    return control::ChangedFrom{run_.inject(inject->mistake)};
  if (const auto* lift = std::get_if<control::Lift>(&request))
    return control::ChangedFrom{run_.lift(lift->mistake)};
  if (const auto* capture = std::get_if<control::SetCapture>(&request)) {
    run_.setCapture(capture->policy);
    return control::Granted{};
  }
  if (const auto* non_finite = std::get_if<control::BreakOnNonFinite>(&request)) {
    run_.breakOnNonFinite(non_finite->on);
    return control::Granted{};
  }
  if (std::holds_alternative<control::Flush>(request)) {
    run_.flush();
    const auto stats = run_.stats();
    return control::Flushed{stats.dropped_events, stats.dropped_tensors};
  }
  throw usageError(std::string("a rank process is not asked for '") + control::nameFor(request) +
                   "'");
}

}  // namespace ringscope::engine
