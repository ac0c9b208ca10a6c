// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/engine_link.h"

#include <utility>

#include "traces/format/core/error.h"

namespace ringscope::viz {

namespace control = traces::control;

namespace {

QString describeLate(const control::Waiting& waiting) {
  const auto& [rank, place] = waiting.late.front();
  return QString("waits for rank %1, last at %2")
      .arg(rank.value())
      .arg(QString::fromStdString(traces::describe(place)));
}

/// Returns the command that runs `ringscope WORDS` on the machine which a command prefix reaches.
EngineCommand remoteCommand(const QString& prefix, const QStringList& words) {
  EngineCommand command;
  command.shell = traces::parseShell(prefix.toStdString());
  std::vector<std::string> arguments;
  for (const QString& word : words) arguments.push_back(word.toStdString());
  const std::string make_folder = std::string("mkdir -p ") + kRemoteRunFolder + "; ";
  for (const std::string& word : traces::remoteCommand(*command.shell, arguments, make_folder))
    command.arguments << QString::fromStdString(word);
  command.program = command.arguments.takeFirst();
  return command;
}

std::vector<LiveTensor> liveTensors(const control::TensorList& list) {
  std::vector<LiveTensor> tensors;
  tensors.reserve(list.tensors.size());
  for (const control::LiveTensorEntry& t : list.tensors)
    tensors.push_back({t.rank, t.tensor, t.layer, t.dtype, t.shape});
  return tensors;
}

LiveRead answered(LiveRead read, const control::Answer& answer) {
  if (const auto* refused = std::get_if<control::Refused>(&answer)) read.failure = refused->error;
  if (const auto* slice = std::get_if<control::TensorSlice>(&answer)) {
    read.place = slice->of.place;
    read.shape = slice->of.shape;
    read.values = slice->values;
  }
  return read;
}

}  // namespace

EngineLink::EngineLink(QObject* parent) : QObject(parent) {
  connect(&process_, &EngineProcess::chunkArrived, this, &EngineLink::handleChunk);
  connect(&process_, &EngineProcess::messageArrived, this, &EngineLink::handle);
  connect(&process_, &EngineProcess::ended, this, [this](const QString& failure, bool crashed) {
    if (failure_.isEmpty())
      failure_ = crashed && state_ == State::kStopping ? "the engine did not stop and was killed"
                                                       : failure;
    setState(State::kIdle, failure_.isEmpty() ? "finished" : failure_);
    Q_EMIT ended(failure_);
  });
  deadline_.setSingleShot(true);
  connect(&deadline_, &QTimer::timeout, this, [this] {
    if (state_ == State::kPausing)
      setState(state_, "the engine has not answered for 2 s; Stop ends it");
    else if (state_ == State::kStopping)
      process_.kill();
  });
}

void EngineLink::start(const QString& program, const QStringList& arguments, const QString& prefix,
                       const QStringList& injected) {
  const QStringList words =
      QStringList{"train"} + arguments + QStringList{"--control", "stdio-held"};
  EngineCommand command{program, words, {}};
  if (!prefix.isEmpty()) command = remoteCommand(prefix, words);
  next_seq_ = 1;
  watermark_ = 0;
  failure_.clear();
  deadline_.stop();
  setState(State::kStarting,
           prefix.isEmpty() ? QString("starting the engine") : "starting the engine by " + prefix);
  process_.start(command);
  process_.send(control::Hello{traces::kControlVersion, true});
  for (const QString& mistake : injected) process_.send(control::Inject{mistake.toStdString()});
}

void EngineLink::pause() {
  if (state_ != State::kRunning) return;
  setState(State::kPausing, "pausing at the next ring step");
  process_.send(control::Pause{});
  deadline_.start(2000);
}

void EngineLink::resume() {
  if (state_ != State::kPaused) return;
  process_.send(control::Continue{});
  setState(State::kRunning, "running");
}

void EngineLink::step(control::StepUnit unit) {
  if (state_ != State::kPaused) return;
  setState(State::kPausing, "stepping");
  process_.send(control::Step{unit});
}

void EngineLink::setBreak(const control::Break& request) {
  if (active() && state_ != State::kStopping) process_.send(request);
}

void EngineLink::read(const LiveRead& asked) {
  if (state_ != State::kPaused) return;
  reading_ = asked;
  process_.send(control::ReadTensor{asked.rank, asked.tensor, asked.layer, asked.lead, {}, {}});
}

void EngineLink::listTensors() {
  if (state_ == State::kPaused) process_.send(control::ListTensors{});
}

void EngineLink::stop() {
  if (!active()) return;
  if (state_ == State::kStopping) {
    process_.kill();
    return;
  }
  const bool starting = state_ == State::kStarting;
  setState(State::kStopping,
           starting ? "stopping as soon as the engine has started; Stop ends it now" : "stopping");
  process_.send(control::Stop{});
  // An engine that starts loads LibTorch before it can read. A busy machine takes long for it.
  deadline_.start(starting ? 30'000 : 5'000);
}

void EngineLink::handleChunk(const traces::Chunk& chunk) {
  if (chunk.seq > next_seq_) process_.send(control::Resend{next_seq_, chunk.seq - 1});
  next_seq_ = std::max(next_seq_, chunk.seq + 1);
  Q_EMIT chunkArrived(chunk);
  announcePauseWhenComplete();
}

void EngineLink::handle(const control::Message& message) {
  if (std::holds_alternative<control::EngineHello>(message)) {
    if (state_ == State::kStopping) return;
    setState(State::kRunning, "running");
    Q_EMIT started();
    process_.send(control::Continue{});
  } else if (const auto* reply = std::get_if<control::Reply>(&message)) {
    handleReply(*reply);
  } else if (const auto* waiting = std::get_if<control::Waiting>(&message)) {
    if (state_ == State::kPausing && !waiting->late.empty())
      setState(State::kPausing, describeLate(*waiting));
  } else if (const auto* stopped = std::get_if<control::StoppedByBreak>(&message)) {
    handleStop(stopped->report, true);
  } else if (const auto* end = std::get_if<control::End>(&message)) {
    failure_ = QString::fromStdString(end->reason);
  } else if (const auto* failure = std::get_if<control::Failure>(&message)) {
    if (state_ == State::kPausing)
      setState(State::kRunning, QString::fromStdString(failure->error));
  }
}

void EngineLink::handleReply(const control::Reply& reply) {
  if (reply.cmd == control::ReadTensor::kName) {
    if (reading_) Q_EMIT tensorRead(answered(*std::exchange(reading_, std::nullopt), reply.answer));
    return;
  }
  if (reply.cmd == control::Inject::kName && reply.refused()) {  // another run than was asked for
    failure_ = QString::fromStdString(reply.refused()->error);
    return stop();
  }
  const auto* list = std::get_if<control::TensorList>(&reply.answer);
  if (list && state_ == State::kPaused)
    Q_EMIT tensorsListed(liveTensors(*list));
  else if (const auto* report = std::get_if<control::StopReport>(&reply.answer))
    handleStop(*report, false);
  else if (reply.refused() && state_ == State::kPausing)
    setState(State::kRunning, QString::fromStdString(reply.refused()->error));
}

void EngineLink::handleStop(const control::StopReport& report, bool by_itself) {
  if (report.over) return;
  stopped_by_itself_ = by_itself;
  watermark_ = report.chunk_watermark;
  paused_at_ = report.place ? QString::fromStdString(traces::describe(*report.place)) : QString();
  announcePauseWhenComplete();
}

/// "Stopped" is said when the picture of the stop is here, not before.
void EngineLink::announcePauseWhenComplete() {
  if (watermark_ == 0 || next_seq_ <= watermark_ || state_ == State::kStopping) return;
  watermark_ = 0;
  setState(State::kPaused,
           (stopped_by_itself_ ? "stopped by the break at " : "paused at ") + paused_at_);
  Q_EMIT paused(paused_at_);
}

/// A run that was asked to stop can only end, whatever the engine still says of it.
void EngineLink::setState(State state, const QString& sentence) {
  if (state_ == State::kStopping && state != State::kIdle && state != State::kStarting) return;
  state_ = state;
  sentence_ = sentence;
  Q_EMIT stateChanged();
}

}  // namespace ringscope::viz
