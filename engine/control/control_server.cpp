// SPDX-License-Identifier: Apache-2.0
#include "engine/control/control_server.h"

#include <poll.h>
#include <unistd.h>

#include <array>

#include "engine/control/break_request.h"
#include "traces/core/error.h"
#include "traces/storage/sqlite_source.h"

namespace ringscope::engine {

using nlohmann::json;

json toJson(const traces::Place& place) {
  return {{"train_step", place.train_step},
          {"layer", place.layer},
          {"direction", traces::name(place.direction)},
          {"stage", place.stage},
          {"text", traces::describe(place)}};
}

ControlServer::ControlServer(Gate& gate, ControlledRun& run,
                             std::shared_ptr<traces::FrameWriter> writer, Options options)
    : gate_(gate), run_(run), writer_(std::move(writer)), options_(std::move(options)) {
  send({{"hello",
         {{"control", traces::kControlVersion},
          {"format", traces::kFormatVersion},
          {"run_id", options_.run_id},
          {"capabilities",
           {"pause", "continue", "step", "stop", "state", "break", "read", "inject", "capture",
            "resend"}}}}});
  thread_ = std::thread([this] { loop(); });
}

ControlServer::~ControlServer() {
  closing_ = true;
  thread_.join();
}

void ControlServer::send(const json& message) {
  writer_->send(traces::encodeJsonFrame(message.dump()));
}

void ControlServer::loop() {
  while (!closing_) {
    try {
      answerPending();
      announceBreak();
    } catch (const Error& error) {  // a rank that does not answer must not end the others
      send({{"error", error.what()}});
    }
    const int patience_ms = pending_ ? 1 : 50;
    if (!input_open_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(patience_ms));
      continue;
    }
    pollfd ready{options_.input, POLLIN, 0};
    if (::poll(&ready, 1, patience_ms) > 0) readInput();
  }
}

void ControlServer::readInput() {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(options_.input, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    input_open_ = false;
    if (stop_at_end_of_input_)
      gate_.stop();
    else
      gate_.resume();  // nobody is left who could continue a paused run
    return;
  }
  try {
    decoder_.feed(buffer.data(), static_cast<std::size_t>(n));
    while (const auto frame = decoder_.next()) {
      if (frame->type != traces::FrameType::kJson) continue;
      handle(json::parse(frame->body.begin(), frame->body.end(), nullptr, false));
    }
  } catch (const Error& error) {
    send({{"error", error.what()}});
    input_open_ = false;
  }
}

void ControlServer::handle(const json& request) {
  if (!request.is_object() || !request.value("cmd", json()).is_string()) {
    send({{"error", "a request must be a JSON object with a \"cmd\""}});
    return;
  }
  json reply = {{"reply", request["cmd"]}, {"id", request.value("id", json())}, {"ok", true}};
  try {
    dispatch(request, reply);
  } catch (const Error& error) {
    reply["ok"] = false;
    reply["error"] = error.what();
  } catch (const json::exception&) {
    reply["ok"] = false;
    reply["error"] = "a field of the request has the wrong type";
  }
  if (!reply.is_null()) send(reply);
}

/// Fills `reply`, or clears it when the answer comes later.
void ControlServer::dispatch(const json& request, json& reply) {
  const auto cmd = request["cmd"].get<std::string>();
  if (cmd == "hello") {
    if (request.value("control", -1) != traces::kControlVersion)
      throw usageError("this engine speaks version " + std::to_string(traces::kControlVersion) +
                       " of the control connection");
    stop_at_end_of_input_ = request.value("at_end_of_input", "finish") == "stop";
  } else if (cmd == "pause" || cmd == "step") {
    if (pending_)
      throw usageError("another " + (*pending_)["reply"].get<std::string>() + " is under way");
    if (cmd == "pause") {
      gate_.pause();
    } else {
      const auto unit = request.value("unit", "stage");
      if (unit != "stage" && unit != "layer" && unit != "train_step")
        throw usageError("a step's unit is stage, layer or train_step");
      const bool paused = gate_.step(unit == "stage"   ? StepUnit::kStage
                                     : unit == "layer" ? StepUnit::kLayer
                                                       : StepUnit::kTrainStep);
      if (!paused) throw usageError("the run is not paused; pause it first");
    }
    pending_ = reply;
    pending_said_ = std::chrono::steady_clock::now();
    reply = json();
  } else if (cmd == "continue") {
    stop_is_known_ = false;
    gate_.resume();
  } else if (cmd == "stop") {
    gate_.stop();
  } else if (cmd == "state") {
    reply["state"] = state();
  } else if (cmd == "break") {
    setBreak(request);
  } else if (cmd == "inject" || cmd == "lift" || cmd == "capture") {
    change(request, reply);
  } else if (cmd == "read" || cmd == "tensors") {
    read(request, reply);
  } else if (cmd == "resend") {
    resend(request, reply);
  } else {
    throw usageError("'" + cmd + "' is not a request of version 0");
  }
}

json ControlServer::state() const {
  const auto place = gate_.stoppedAt();
  const auto stats = run_.stats();
  return {{"running", !place && !gate_.over()},
          {"paused", place.has_value()},
          {"over", gate_.over()},
          {"place", place ? toJson(*place) : json()},
          {"run_id", options_.run_id},
          {"run_clock_ns", run_.now()},
          {"events", stats.events},
          {"dropped_events", stats.dropped_events},
          {"failed_sinks", stats.failed_sinks}};
}

void ControlServer::answerPending() {
  if (!pending_) return;
  const auto place = gate_.stoppedAt();
  const bool over = gate_.over();
  if (!place && !over) return tellWhoIsLate();
  json reply = *pending_;
  pending_.reset();
  reply["over"] = over;
  addStop(reply, place);
  stop_is_known_ = place.has_value();
  send(reply);
}

void ControlServer::tellWhoIsLate() {
  constexpr auto kEvery = std::chrono::seconds(2);
  const auto now = std::chrono::steady_clock::now();
  if (now - pending_said_ < kEvery) return;
  pending_said_ = now;
  json late = json::array();
  for (const auto& [rank, place] : gate_.onTheirWay())
    late.push_back({{"rank", rank}, {"place", toJson(place)}});
  send({{"waiting", (*pending_)["reply"]}, {"id", (*pending_)["id"]}, {"for", late}});
}

void ControlServer::addStop(json& message, const std::optional<traces::Place>& place) {
  const traces::Watermark watermark = run_.flush();
  message["run_id"] = options_.run_id;
  message["place"] = place ? toJson(*place) : json();
  message["chunk_watermark"] = watermark.chunk_watermark;
  message["run_clock_ns"] = watermark.run_clock_ns;
}

void ControlServer::announceBreak() {
  const auto place = gate_.stoppedAt();
  if (!place) stop_is_known_ = false;
  if (!place || pending_ || stop_is_known_) return;
  json message = {{"stopped", "break"}};
  addStop(message, place);
  stop_is_known_ = true;
  send(message);
}

void ControlServer::setBreak(const json& request) {
  const BreakRequest asked = BreakRequest::fromJson(request);
  gate_.setBreak(asked.place);
  break_multiple_ = asked.on_divergence ? asked.multiple : kNoBreak;
  if (asked.on_non_finite != breaks_on_non_finite_) run_.breakOnNonFinite(asked.on_non_finite);
  breaks_on_non_finite_ = asked.on_non_finite;
}

void ControlServer::change(const json& request, json& reply) {
  const auto cmd = request["cmd"].get<std::string>();
  if (cmd == "capture") return run_.setCapture(request.value("policy", ""));
  const auto mistake = request.value("mistake", std::string());
  const std::int32_t step = run_.change(cmd, mistake);
  reply["from_train_step"] = step;
  if (options_.seal)
    options_.seal(json({{"control", cmd}, {"mistake", mistake}, {"from_train_step", step}}).dump());
}

void ControlServer::diffsArrived(const std::vector<traces::DiffRecord>& diffs) {
  const double limit = break_multiple_;
  if (limit == kNoBreak) return;
  for (const auto& diff : diffs)
    if (!(diff.multiple <= limit)) return gate_.pause();
}

void ControlServer::read(const json& request, json& reply) {
  if (!gate_.stoppedAt()) throw usageError("tensors are read from a paused run; pause it first");
  if (request["cmd"] == "tensors")
    reply["tensors"] = run_.tensors();
  else
    reply.update(run_.read(request));
}

void ControlServer::resend(const json& request, json& reply) {
  if (options_.trace_path.empty())
    throw usageError("this run keeps no file, so chunks cannot be sent again");
  traces::SqliteSource source(options_.trace_path);
  int sent = 0;
  source.readRange(request.value("first", std::uint64_t{0}),
                   request.value("last", std::uint64_t{0}), [&](const traces::Chunk& chunk) {
                     writer_->send(traces::encodeChunkFrame(chunk));
                     ++sent;
                   });
  reply["sent"] = sent;
}

void ControlServer::announceEnd(const std::string& failure, bool stopped) {
  send({{"end",
         {{"run_id", options_.run_id},
          {"ok", failure.empty()},
          {"stopped", stopped},
          {"reason", failure}}}});
}

}  // namespace ringscope::engine
