// SPDX-License-Identifier: Apache-2.0
#include "engine/control/control_server.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "traces/format/core/error.h"
#include "traces/format/storage/sqlite_source.h"

namespace ringscope::engine {

namespace control = traces::control;

namespace {

constexpr const char* kNotPaused = "the run is not paused; pause it first";

}  // namespace

ControlServer::ControlServer(Gate& gate, ControlledRun& run,
                             std::shared_ptr<traces::FrameWriter> writer, Options options)
    : gate_(gate), run_(run), writer_(std::move(writer)), options_(std::move(options)) {
  send(control::EngineHello{traces::kControlVersion,
                            traces::kFormatVersion,
                            options_.run_id,
                            {"pause", "continue", "step", "stop", "state", "break", "read",
                             "inject", "capture", "resend"}});
  thread_ = std::thread([this] { loop(); });
}

ControlServer::~ControlServer() {
  closing_ = true;
  thread_.join();
}

void ControlServer::send(const control::Message& message) {
  writer_->send(control::encodeMessage(message));
}

void ControlServer::loop() {
  while (!closing_) {
    try {
      answerPending();
      announceBreak();
    } catch (const std::exception& error) {  // a rank that does not answer must not end the others
      send(control::Failure{error.what()});
    }
    const int patience_ms = pending_ ? 1 : 50;
    if (connected_ && writer_->readerIsGone()) disconnect();
    if (!connected_) runAlone();
    if (gate_.stopRequested()) may_start_ = true;
    // Reads no more requests while the client does not read the answers.
    pollfd ready{connected_ && !writer_->overflows() ? options_.input : -1, POLLIN, 0};
    if (::poll(&ready, 1, patience_ms) > 0) readInput();
  }
}

void ControlServer::readInput() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(options_.input, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) return disconnect();
  try {
    decoder_.feed(buffer.data(), static_cast<std::size_t>(n));
    while (const auto frame = decoder_.next()) {
      if (frame->type == traces::FrameType::kJson) handle(*frame);
    }
  } catch (const std::exception& error) {
    send(control::Failure{error.what()});
    disconnect();
  }
}

/// Ends the connection, because the input has ended or is malformed, or because nobody reads the
/// answers.
void ControlServer::disconnect() {
  connected_ = false;
  pending_.reset();
  if (stop_at_end_of_input_) return gate_.stop();
  try {
    setBreak({});
  } catch (const std::exception&) {  // a rank does not answer; runAlone() resumes the run
  }
}

/// Lets a run without a client start and resume, because nobody could resume it later.
void ControlServer::runAlone() {
  may_start_ = true;
  if (gate_.stoppedAt()) gate_.resume();
}

void ControlServer::handle(const traces::Frame& frame) {
  std::optional<control::RequestHead> head;
  try {
    const auto message = traces::parseFrameJson(frame);
    head = control::RequestHead::from(message);
    if (auto answer = granted(*head, control::decodeRequest(message)))
      send(control::Reply{head->cmd, head->id, std::move(*answer)});
  } catch (const std::exception& error) {  // an Error, or an exception of a library
    if (head)
      send(control::Reply{head->cmd, head->id, control::Refused{error.what()}});
    else
      send(control::Failure{error.what()});
  }
}

std::optional<control::Answer> ControlServer::granted(const control::RequestHead& head,
                                                      const control::Request& request) {
  if (const auto* hello = std::get_if<control::Hello>(&request)) {
    greet(*hello);
  } else if (std::holds_alternative<control::Pause>(request) ||
             std::holds_alternative<control::Step>(request)) {
    stopSoon(head, request);
    return std::nullopt;
  } else if (std::holds_alternative<control::Continue>(request)) {
    stop_is_known_ = false;
    gate_.resume();
    may_start_ = true;
  } else if (std::holds_alternative<control::Stop>(request)) {
    gate_.stop();
  } else if (std::holds_alternative<control::AskState>(request)) {
    return state();
  } else if (const auto* at = std::get_if<control::Break>(&request)) {
    setBreak(*at);
  } else if (const auto* inject = std::get_if<control::Inject>(&request)) {
    return changed(inject->kName, inject->mistake, run_.inject(inject->mistake));
  } else if (const auto* lift = std::get_if<control::Lift>(&request)) {
    return changed(lift->kName, lift->mistake, run_.lift(lift->mistake));
  } else if (const auto* capture = std::get_if<control::SetCapture>(&request)) {
    run_.setCapture(capture->policy);
  } else if (std::holds_alternative<control::ListTensors>(request)) {
    requirePaused();
    return run_.tensors();
  } else if (const auto* read = std::get_if<control::ReadTensor>(&request)) {
    requirePaused();
    return run_.read(*read);
  } else if (const auto* missing = std::get_if<control::Resend>(&request)) {
    return resend(*missing);
  } else {
    throw usageError("'" + head.cmd + "' is for rank processes, not for a run");
  }
  return control::Granted{};
}

void ControlServer::greet(const control::Hello& hello) {
  if (hello.version != traces::kControlVersion)
    throw usageError("this engine speaks version " + std::to_string(traces::kControlVersion) +
                     " of the control connection");
  stop_at_end_of_input_ = hello.stop_at_end_of_input;
}

/// Starts a pause or a step, which is answered when every rank stands at the gate.
void ControlServer::stopSoon(const control::RequestHead& head, const control::Request& request) {
  if (pending_) throw usageError("another " + pending_->cmd + " is under way");
  if (const auto* step = std::get_if<control::Step>(&request)) {
    if (!gate_.step(step->unit)) throw usageError(kNotPaused);
  } else {
    gate_.pause();
  }
  pending_ = head;
  pending_said_ = std::chrono::steady_clock::now();
}

control::StateReport ControlServer::state() const {
  const auto place = gate_.stoppedAt();
  const auto stats = run_.stats();
  return {!place && !gate_.over(), place.has_value(), gate_.over(), place,
          options_.run_id,         run_.now(),        stats.events, stats.dropped_events,
          stats.failed_sinks};
}

void ControlServer::answerPending() {
  if (!pending_) return;
  const auto place = gate_.stoppedAt();
  if (!place && !gate_.over()) return tellWhoIsLate();
  const control::RequestHead head = *std::exchange(pending_, std::nullopt);
  control::StopReport report = stopReport(place);
  stop_is_known_ = place.has_value();
  send(control::Reply{head.cmd, head.id, std::move(report)});
}

void ControlServer::tellWhoIsLate() {
  constexpr auto kEvery = std::chrono::seconds(2);
  const auto now = std::chrono::steady_clock::now();
  if (now - pending_said_ < kEvery) return;
  pending_said_ = now;
  control::Waiting waiting{pending_->cmd, pending_->id, {}};
  for (const auto& [rank, place] : gate_.onTheirWay())
    waiting.late.push_back(
        {traces::WorldRank::of(rank.value()), place});  // here the gate's ranks are the world ranks
  send(std::move(waiting));
}

control::StopReport ControlServer::stopReport(const std::optional<traces::Place>& place) {
  const bool over = gate_.over();
  const traces::Watermark watermark = run_.flush();
  return {options_.run_id, place, watermark.chunk_watermark, watermark.run_clock_ns, over};
}

void ControlServer::announceBreak() {
  const auto place = gate_.stoppedAt();
  if (!place) stop_is_known_ = false;
  if (!place || pending_ || stop_is_known_) return;
  control::StoppedByBreak stopped{stopReport(place)};
  stop_is_known_ = true;
  send(std::move(stopped));
}

void ControlServer::setBreak(const control::Break& asked) {
  gate_.setBreak(asked.at);
  break_ratio_ = asked.on_divergence ? asked.ratio : kNoBreak;
  if (asked.on_non_finite != breaks_on_non_finite_) run_.breakOnNonFinite(asked.on_non_finite);
  breaks_on_non_finite_ = asked.on_non_finite;
}

control::ChangedFrom ControlServer::changed(const char* cmd, const std::string& mistake,
                                            std::int32_t from_train_step) {
  if (options_.seal)
    options_.seal(
        nlohmann::json(
            {{"control", cmd}, {"mistake", mistake}, {"from_train_step", from_train_step}})
            .dump());
  return {from_train_step};
}

void ControlServer::diffsArrived(const std::vector<traces::DiffRecord>& diffs) {
  const double limit = break_ratio_;
  if (limit == kNoBreak) return;
  for (const auto& diff : diffs)
    if (!(diff.ratio <= limit)) return gate_.pause();
}

void ControlServer::requirePaused() const {
  if (!gate_.stoppedAt()) throw usageError("tensors are read from a paused run; pause it first");
}

control::Resent ControlServer::resend(const control::Resend& asked) {
  if (options_.trace_path.empty())
    throw usageError("this run keeps no file, so chunks cannot be sent again");
  traces::SqliteSource source(options_.trace_path);
  control::Resent resent;
  source.readRange(asked.first, asked.last, [&](const traces::Chunk& chunk) {
    while (writer_->overflows() && !writer_->readerIsGone() && !closing_)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    writer_->send(traces::encodeChunkFrame(chunk));
    ++resent.sent;
  });
  return resent;
}

void ControlServer::announceEnd(const std::string& failure, bool stopped) {
  send(control::End{options_.run_id, stopped, failure});
}

}  // namespace ringscope::engine
