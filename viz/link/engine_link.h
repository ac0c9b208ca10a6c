// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

#include "traces/exchange/control/messages.h"
#include "viz/link/engine_process.h"
#include "viz/scene/live_read.h"

namespace ringscope::viz {

/// The folder on another machine that gets the runs started there. It lies in the folder in which
/// the command prefix starts commands.
inline constexpr const char* kRemoteRunFolder = "ringscope-runs";

/// A live run: controls the engine in a child process, and emits its chunks and answers. A hung or
/// dying engine never blocks the window. GUI thread only.
class EngineLink : public QObject {
  Q_OBJECT
 public:
  enum class State { kIdle, kStarting, kRunning, kPausing, kPaused, kStopping };

  explicit EngineLink(QObject* parent = nullptr);

  /// Starts `program train ARGUMENTS --control stdio-held`. A run that is under way is ended first.
  /// A command prefix starts `ringscope` on another machine instead of `program`. Throws usageError
  /// for a malformed prefix. `injected` are mistakes that the control connection requests before
  /// the first step, so that no list of processes shows them.
  void start(const QString& program, const QStringList& arguments, const QString& prefix = {},
             const QStringList& injected = {});
  void pause();
  void resume();
  /// Sets the place at which the run stops by itself.
  void setBreak(const traces::control::Break& request);
  /// Asks a paused run for a slice; the answer comes as tensorRead().
  void read(const LiveRead& asked);
  /// Asks a paused run what it holds; the answer comes as tensorsListed().
  void listTensors();
  void step(traces::control::StepUnit unit);
  /// Asks for a clean stop; a second call kills, as do 5 s without a stop (30 s of an engine that
  /// is starting).
  void stop();

  State state() const { return state_; }
  bool active() const { return state_ != State::kIdle; }
  /// Returns the state of the run in one sentence.
  const QString& sentence() const { return sentence_; }

 Q_SIGNALS:
  /// The engine has said hello; what is asked for now holds from the first gate on.
  void started();
  void tensorRead(const LiveRead& read);
  void tensorsListed(const std::vector<LiveTensor>& tensors);
  void chunkArrived(const traces::Chunk& chunk);
  /// Every rank stands at one gate and all chunks before it have arrived.
  void paused(const QString& place);
  void stateChanged();
  /// `failure` is empty when the run ended well.
  void ended(const QString& failure);

 private:
  void handle(const traces::control::Message& message);
  void handleReply(const traces::control::Reply& reply);
  void handleChunk(const traces::Chunk& chunk);
  void handleStop(const traces::control::StopReport& report, bool by_itself);
  void announcePauseWhenComplete();
  void setState(State state, const QString& sentence);

  EngineProcess process_{this};
  QTimer deadline_;  // of a pause or a stop that was asked for
  State state_ = State::kIdle;
  QString sentence_;
  QString failure_;  // the reason that the engine gave
  std::uint64_t next_seq_ = 1;
  std::uint64_t watermark_ = 0;  // of the pause that is being waited for; 0: none
  QString paused_at_;
  bool stopped_by_itself_ = false;
  std::optional<LiveRead> reading_;
};

}  // namespace ringscope::viz
