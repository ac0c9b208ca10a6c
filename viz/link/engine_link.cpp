// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/engine_link.h"

#include <QTimer>

#include "traces/core/error.h"

namespace ringscope::viz {

using nlohmann::json;

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
  decoder_ = {};
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
  setState(State::kStarting, "starting the engine");
  process_->start(program, QStringList{"train"} + arguments + QStringList{"--control", "stdio"});
  send({{"cmd", "hello"}, {"control", traces::kControlVersion}, {"at_end_of_input", "stop"}});
}

void EngineLink::send(json message) {
  message["id"] = next_id_++;
  const auto frame = traces::encodeJsonFrame(message.dump());
  if (process_)
    process_->write(reinterpret_cast<const char*>(frame.data()), static_cast<qint64>(frame.size()));
}

void EngineLink::pause() {
  if (state_ != State::kRunning) return;
  setState(State::kPausing, "pausing at the next ring step");
  send({{"cmd", "pause"}});
  QTimer::singleShot(2000, process_, [this] {
    if (state_ == State::kPausing)
      setState(state_, "the engine has not answered for 2 s; Stop ends it");
  });
}

void EngineLink::resume() {
  if (state_ != State::kPaused) return;
  send({{"cmd", "continue"}});
  setState(State::kRunning, "running");
}

void EngineLink::step(const QString& unit) {
  if (state_ != State::kPaused) return;
  setState(State::kPausing, "stepping");
  send({{"cmd", "step"}, {"unit", unit.toStdString()}});
}

void EngineLink::setBreak(const json& request) {
  if (!active() || state_ == State::kStopping) return;
  json message = request;
  message["cmd"] = "break";
  send(message);
}

void EngineLink::read(const LiveRead& asked) {
  if (state_ != State::kPaused) return;
  reading_ = asked;
  json message = {{"cmd", "read"},
                  {"rank", asked.rank},
                  {"tensor", asked.tensor.toStdString()},
                  {"layer", asked.layer},
                  {"lead", asked.lead}};
  send(message);
}

void EngineLink::listTensors() {
  if (state_ == State::kPaused) send({{"cmd", "tensors"}});
}

void EngineLink::handleTensors(const json& message) {
  if (state_ != State::kPaused) return;
  std::vector<LiveTensor> tensors;
  for (const json& t : message.value("tensors", json::array()))
    tensors.push_back({t.value("rank", 0), QString::fromStdString(t.value("tensor", "")),
                       t.value("layer", -1), QString::fromStdString(t.value("dtype", "")),
                       t.value("shape", std::vector<std::int64_t>())});
  Q_EMIT tensorsListed(tensors);
}

/// What is not finite comes as a word, since JSON has no number for it.
void EngineLink::handleRead(const json& message) {
  if (!reading_) return;
  LiveRead read = *std::exchange(reading_, std::nullopt);
  read.failure = QString::fromStdString(message.value("error", ""));
  read.place = QString::fromStdString(message.value("place", ""));
  read.shape = message.value("shape", std::vector<std::int64_t>());
  for (const auto& value : message.value("values", json::array()))
    read.values.push_back(value.is_number() ? value.get<double>()
                          : value == "inf"  ? std::numeric_limits<double>::infinity()
                          : value == "-inf" ? -std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::quiet_NaN());
  Q_EMIT tensorRead(read);
}

void EngineLink::stop() {
  if (!active()) return;
  if (state_ == State::kStopping) {
    process_->kill();
    return;
  }
  setState(State::kStopping, "stopping");
  send({{"cmd", "stop"}});
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
        handleJson(json::parse(frame->body.begin(), frame->body.end(), nullptr, false));
    }
  } catch (const Error& error) {
    failure_ = QString("the control connection broke: ") + error.what();
    process_->kill();
  }
}

void EngineLink::handleChunk(const traces::Chunk& chunk) {
  if (chunk.seq > next_seq_)
    send({{"cmd", "resend"}, {"first", next_seq_}, {"last", chunk.seq - 1}});
  next_seq_ = std::max(next_seq_, chunk.seq + 1);
  Q_EMIT chunkArrived(chunk);
  announcePauseWhenComplete();
}

void EngineLink::handleJson(const json& message) {
  if (!message.is_object()) return;
  if (message.contains("hello")) {
    setState(State::kRunning, "running");
    Q_EMIT started();
  } else if (message.value("reply", "") == "read") {
    handleRead(message);
  } else if (message.value("reply", "") == "tensors") {
    handleTensors(message);
  } else if (message.contains("waiting")) {
    sayWhoIsLate(message);
  } else if (message.contains("end")) {
    failure_ = QString::fromStdString(message["end"].value("reason", ""));
  } else if (message.contains("chunk_watermark")) {
    handleStopReply(message);
  } else if (message.contains("error") && state_ == State::kPausing) {
    setState(State::kRunning, QString::fromStdString(message.value("error", "")));
  }
}

/// A pause that some ranks have not come to yet.
void EngineLink::sayWhoIsLate(const json& message) {
  if (state_ != State::kPausing || !message["for"].is_array() || message["for"].empty()) return;
  const json& first = message["for"].front();
  const auto place = first.value("place", json::object()).value("text", "");
  setState(State::kPausing, QString("waits for rank %1, last at %2")
                                .arg(first.value("rank", 0))
                                .arg(QString::fromStdString(place)));
}

void EngineLink::handleStopReply(const json& message) {
  if (message.value("over", false)) return;
  stopped_by_itself_ = message.contains("stopped");
  watermark_ = message.value("chunk_watermark", std::uint64_t{0});
  const json place = message.value("place", json());
  paused_at_ = place.is_object() ? QString::fromStdString(place.value("text", "")) : QString();
  announcePauseWhenComplete();
}

/// "Stopped" is said when the picture of the stop is here, not before.
void EngineLink::announcePauseWhenComplete() {
  if (watermark_ == 0 || next_seq_ <= watermark_) return;
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

void EngineLink::setState(State state, const QString& sentence) {
  state_ = state;
  sentence_ = sentence;
  Q_EMIT stateChanged();
}

}  // namespace ringscope::viz
