// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <memory>
#include <optional>

#include "traces/exchange/control/messages.h"
#include "traces/exchange/remote/remote_address.h"
#include "traces/format/stream/frame.h"

namespace ringscope::viz {

/// A command that starts the engine. With a remote shell, the program is that shell, and frames
/// follow the line with which a remote command begins.
struct EngineCommand {
  QString program;
  QStringList arguments;
  std::optional<traces::RemoteShell> shell;
};

/// The engine as a child process, and the frames that go to and fro. GUI thread only.
class EngineProcess : public QObject {
  Q_OBJECT
 public:
  explicit EngineProcess(QObject* parent = nullptr);
  ~EngineProcess() override;  ///< kills the process

  /// Starts the engine. Kills the process that was started before.
  void start(const EngineCommand& command);
  void send(const traces::control::Request& request);
  void kill();

 Q_SIGNALS:
  void chunkArrived(const traces::Chunk& chunk);
  void messageArrived(const traces::control::Message& message);
  /// Emitted when the process has ended or could not be started. The `failure` is empty when it
  /// ended well. The flag `crashed` is set when it was killed or crashed, and all its frames were
  /// whole.
  void ended(const QString& failure, bool crashed);

 private:
  void readFrames();
  QByteArray skipToBeginning(QByteArray bytes);
  void finish(int code, QProcess::ExitStatus status);
  void drop();

  std::unique_ptr<QProcess> process_;
  traces::FrameDecoder decoder_;
  QString failure_;
  std::optional<traces::RemoteShell> shell_;
  QByteArray before_;      // output of another machine before its frames
  bool answered_ = false;  // a frame has arrived
  int next_id_ = 1;
};

}  // namespace ringscope::viz
