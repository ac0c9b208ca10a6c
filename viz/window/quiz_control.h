// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <optional>
#include <vector>

#include "viz/quiz/quiz.h"
#include "viz/window/recording_control.h"
#include "viz/window/run_control.h"

namespace ringscope::viz {

/// A quiz in the window: runs each round with its sealed mistake, keeps the evidence and the score
/// sheet, and opens the seal when the class asks for it.
class QuizControl : public QObject {
  Q_OBJECT
 public:
  QuizControl(const WindowParts& parts, RunControl& runs, RecordingControl& recordings,
              EngineLink& engine, QObject* parent);

  /// Begins the first round of a seed. Each round ends after `limit` seconds; 0: without a limit.
  void start(std::uint32_t seed, int rounds, std::int64_t limit = 0);
  /// Pins the view and the place on show as evidence.
  void pin();
  /// Ends the quiz. A round without an answer is noted as such, and its seal is opened.
  void end();
  /// Ends the quiz because something else takes the stage.
  void leave();
  bool isRunning() const { return quiz_.has_value(); }
  /// Returns the file of the score sheet; empty before the first round has ended.
  const QString& file() const { return file_; }

 protected:
  /// Notes a round without an answer when the window closes, so that nothing is lost.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  /// A place of pinned evidence.
  struct Pinned {
    QString view;
    Cursor cursor;
  };
  void beginRound();
  void answer(const QString& mistake, const NamedPlace& where, const QString& because);
  /// Ends the round without an answer.
  void skip();
  void takeHint();
  /// Shows the time, and ends a round whose time is over.
  void tick();
  void reveal();
  /// Opens the recording of a revealed round as soon as nobody writes it.
  void openRecording();
  void next();
  void noteUnanswered();
  void save();
  void refresh();
  std::int64_t seconds() const { return clock_.elapsed() / 1000; }

  WindowParts parts_;
  RunControl& runs_;
  RecordingControl& recordings_;
  EngineLink& engine_;
  std::optional<Quiz> quiz_;
  std::vector<Pinned> pinned_;
  QString file_;
  bool own_ = false;        // this class changes what is on show
  bool awaited_ = false;    // the recording of a revealed round is still being written
  std::int64_t limit_ = 0;  // seconds of a round; 0: none
  QElapsedTimer clock_;
  QTimer ticks_;
};

}  // namespace ringscope::viz
