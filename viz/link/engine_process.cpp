// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/engine_process.h"

#include "traces/format/core/error.h"
#include "viz/link/stop_with_window.h"
#include "viz/session/problem.h"

namespace ringscope::viz {

EngineProcess::EngineProcess(QObject* parent) : QObject(parent) {}

EngineProcess::~EngineProcess() {
  drop();
}

void EngineProcess::drop() {
  if (!process_) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(1000);
}

void EngineProcess::start(const EngineCommand& command) {
  drop();
  shell_ = command.shell;
  before_.clear();
  answered_ = false;
  decoder_ = traces::FrameDecoder();
  failure_.clear();
  process_ = std::make_unique<QProcess>(this);
  connect(process_.get(), &QProcess::readyReadStandardOutput, this, &EngineProcess::readFrames);
  connect(process_.get(), &QProcess::finished, this, &EngineProcess::finish);
  connect(process_.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      Q_EMIT ended("the engine could not be started: " + process_->program(), false);
  });
  stopWithThisWindow(*process_);
  process_->start(command.program, command.arguments);
}

void EngineProcess::send(const traces::control::Request& request) {
  const auto frame = traces::control::encodeRequest(request, next_id_++);
  if (process_)
    process_->write(reinterpret_cast<const char*>(frame.data()), static_cast<qint64>(frame.size()));
}

void EngineProcess::kill() {
  if (process_) process_->kill();
}

/// Returns the bytes after the line with which a remote command begins; none before that line.
QByteArray EngineProcess::skipToBeginning(QByteArray bytes) {
  constexpr qsizetype kMostBefore = 256 << 10;
  const QByteArray line(traces::kBeginLine.data(), traces::kBeginLine.size());
  if (!shell_ || before_.endsWith(line)) return bytes;
  before_ += bytes;
  const qsizetype at = before_.indexOf(line);
  if (at < 0 && before_.size() > kMostBefore)
    throw inputError("the other machine prints text without end before the engine starts");
  if (at < 0) return {};
  const qsizetype end = at + line.size();
  bytes = before_.mid(end);
  before_.truncate(end);
  return bytes;
}

void EngineProcess::readFrames() {
  try {
    const QByteArray bytes = skipToBeginning(process_->readAllStandardOutput());
    decoder_.feed(bytes.constData(), static_cast<std::size_t>(bytes.size()));
    while (auto frame = decoder_.next()) {
      answered_ = true;
      if (frame->type == traces::FrameType::kChunk)
        Q_EMIT chunkArrived(traces::decodeChunkFrame(*frame));
      else
        Q_EMIT messageArrived(traces::control::decodeMessage(traces::parseFrameJson(*frame)));
    }
  } catch (...) {
    failure_ = "the control connection broke: " + describeProblem(std::current_exception());
    process_->kill();
  }
}

void EngineProcess::finish(int code, QProcess::ExitStatus status) {
  readFrames();
  const QString errors = QString::fromLocal8Bit(process_->readAllStandardError()).trimmed();
  const QString last_line = errors.section('\n', -1);
  if (shell_ && !answered_ && failure_.isEmpty())
    failure_ =
        QString::fromStdString(traces::describeRemoteEnd(*shell_, code, errors.toStdString()));
  const bool crashed = status == QProcess::CrashExit && failure_.isEmpty();
  if (crashed) failure_ = "the engine died: killed or crashed";
  if (code != 0 && failure_.isEmpty())
    failure_ = last_line.isEmpty() ? QString("the engine ended with code %1").arg(code) : last_line;
  Q_EMIT ended(failure_, crashed);
}

}  // namespace ringscope::viz
