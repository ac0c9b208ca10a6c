// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/engine_link.h"

#include <QTimer>

#include "traces/format/core/error.h"
#include "viz/link/stop_with_window.h"
#include "viz/session/problem.h"

namespace ringscope::viz {

namespace control = traces::control;

EngineLink::EngineLink(QObject* parent) : QObject(parent) {}

EngineLink::~EngineLink() {
  if (!process_) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(1000);
}

void EngineLink::start(const QString& program, const QStringList& arguments) {
  if (process_) {
    process_->disconnect(this);
    process_->kill();
    process_->waitForFinished(1000);
    delete process_;
  }
  decoder_ = traces::FrameDecoder();
  next_seq_ = 1;
  watermark_ = 0;
  failure_.clear();
  process_ = new QProcess(this);
  connect(process_, &QProcess::readyReadStandardOutput, this, &EngineLink::readFrames);
  connect(process_, &QProcess::finished, this, &EngineLink::processFinished);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    setState(State::kIdle, "the engine could not be started: " + process_->program());
    Q_EMIT ended(sentence_);
  });
  stopWithThisWindow(*process_);
  setState(State::kStarting, "starting the engine");
  process_->start(program,
                  QStringList{"train"} + arguments + QStringList{"--control", "stdio-held"});
  send(control::Hello{traces::kControlVersion, true});
}

void EngineLink::send(const control::Request& request) {
  const auto frame = control::encodeRequest(request, next_id_++);
  if (process_)
    process_->write(reinterpret_cast<const char*>(frame.data()), static_cast<qint64>(frame.size()));
}

void EngineLink::pause() {
  if (state_ != State::kRunning) return;
  setState(State::kPausing, "pausing at the next ring step");
  send(control::Pause{});
  QTimer::singleShot(2000, process_, [this] {
    if (state_ == State::kPausing)
      setState(state_, "the engine has not answered for 2 s; Stop ends it");
  });
}

void EngineLink::resume() {
  if (state_ != State::kPaused) return;
  send(control::Continue{});
  setState(State::kRunning, "running");
}

void EngineLink::step(control::StepUnit unit) {
  if (state_ != State::kPaused) return;
  setState(State::kPausing, "stepping");
  send(control::Step{unit});
}

void EngineLink::setBreak(const control::Break& request) {
  if (active() && state_ != State::kStopping) send(request);
}

void EngineLink::read(const LiveRead& asked) {
  if (state_ != State::kPaused) return;
  reading_ = asked;
  send(control::ReadTensor{asked.rank, asked.tensor, asked.layer, asked.lead, {}, {}});
}

void EngineLink::listTensors() {
  if (state_ == State::kPaused) send(control::ListTensors{});
}

void EngineLink::handleTensors(const control::TensorList& list) {
  if (state_ != State::kPaused) return;
  std::vector<LiveTensor> tensors;
  for (const control::LiveTensorEntry& t : list.tensors)
    tensors.push_back({t.rank, t.tensor, t.layer, t.dtype, t.shape});
  Q_EMIT tensorsListed(tensors);
}

void EngineLink::handleRead(const control::Answer& answer) {
  if (!reading_) return;
  LiveRead read = *std::exchange(reading_, std::nullopt);
  if (const auto* refused = std::get_if<control::Refused>(&answer)) read.failure = refused->error;
  if (const auto* slice = std::get_if<control::TensorSlice>(&answer)) {
    read.place = slice->of.place;
    read.shape = slice->of.shape;
    read.values = slice->values;
  }
  Q_EMIT tensorRead(read);
}

void EngineLink::stop() {
  if (!active()) return;
  if (state_ == State::kStopping) {
    process_->kill();
    return;
  }
  setState(State::kStopping, "stopping");
  send(control::Stop{});
  QTimer::singleShot(5000, process_, [this] {
    if (state_ == State::kStopping) process_->kill();
  });
}

void EngineLink::readFrames() {
  const QByteArray bytes = process_->readAllStandardOutput();
  try {
    decoder_.feed(bytes.constData(), static_cast<std::size_t>(bytes.size()));
    while (auto frame = decoder_.next()) {
      if (frame->type == traces::FrameType::kChunk)
        handleChunk(traces::decodeChunkFrame(*frame));
      else
        handle(control::decodeMessage(traces::parseFrameJson(*frame)));
    }
  } catch (...) {
    failure_ = "the control connection broke: " + describeProblem(std::current_exception());
    process_->kill();
  }
}

void EngineLink::handleChunk(const traces::Chunk& chunk) {
  if (chunk.seq > next_seq_) send(control::Resend{next_seq_, chunk.seq - 1});
  next_seq_ = std::max(next_seq_, chunk.seq + 1);
  Q_EMIT chunkArrived(chunk);
  announcePauseWhenComplete();
}

void EngineLink::handle(const control::Message& message) {
  if (std::holds_alternative<control::EngineHello>(message)) {
    if (state_ == State::kStopping) return;
    setState(State::kRunning, "running");
    Q_EMIT started();
    send(control::Continue{});
  } else if (const auto* reply = std::get_if<control::Reply>(&message)) {
    handleReply(*reply);
  } else if (const auto* waiting = std::get_if<control::Waiting>(&message)) {
    sayWhoIsLate(*waiting);
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
  if (reply.cmd == control::ReadTensor::kName) return handleRead(reply.answer);
  if (const auto* list = std::get_if<control::TensorList>(&reply.answer))
    handleTensors(*list);
  else if (const auto* report = std::get_if<control::StopReport>(&reply.answer))
    handleStop(*report, false);
  else if (reply.refused() && state_ == State::kPausing)
    setState(State::kRunning, QString::fromStdString(reply.refused()->error));
}

/// A pause that some ranks have not come to yet.
void EngineLink::sayWhoIsLate(const control::Waiting& waiting) {
  if (state_ != State::kPausing || waiting.late.empty()) return;
  const auto& [rank, place] = waiting.late.front();
  setState(State::kPausing, QString("waits for rank %1, last at %2")
                                .arg(rank.value())
                                .arg(QString::fromStdString(traces::describe(place))));
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

void EngineLink::processFinished(int code, QProcess::ExitStatus status) {
  readFrames();
  const QString errors = QString::fromLocal8Bit(process_->readAllStandardError()).trimmed();
  const QString last_line = errors.section('\n', -1);
  if (status == QProcess::CrashExit && failure_.isEmpty())
    failure_ = state_ == State::kStopping ? "the engine did not stop and was killed"
                                          : "the engine died: killed or crashed";
  if (code != 0 && failure_.isEmpty())
    failure_ = last_line.isEmpty() ? QString("the engine ended with code %1").arg(code) : last_line;
  setState(State::kIdle, failure_.isEmpty() ? "finished" : failure_);
  Q_EMIT ended(failure_);
}

/// A run that was asked to stop can only end, whatever the engine still says of it.
void EngineLink::setState(State state, const QString& sentence) {
  if (state_ == State::kStopping && state != State::kIdle && state != State::kStarting) return;
  state_ = state;
  sentence_ = sentence;
  Q_EMIT stateChanged();
}

}  // namespace ringscope::viz
