// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <QTimer>

#include "viz/window/history_control.h"
#include "viz/window/job_control.h"
#include "viz/window/lesson_control.h"
#include "viz/window/quiz_control.h"
#include "viz/window/recording_control.h"
#include "viz/window/run_control.h"
#include "viz/window/start_control.h"

namespace ringscope::viz {

/// The window. Puts the data, the links, the page and the controls together, and gives them keys
/// and a clock.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  /// `engine_program` is the command-line program; empty when this installation only views
  /// recordings.
  explicit MainWindow(const QString& engine_program, QWidget* parent = nullptr);

  /// Reads the file on a worker thread; the window stays usable.
  void openTrace(const QString& path) { recordings_->open(path); }
  void startRun(const RunConfig& config) { runs_->start(config); }
  /// Follows jobs that send their recordings here. `options.folder` empty: into a new folder among
  /// the runs. Throws Error when it cannot listen there.
  void listen(traces::ListenOptions options) { jobs_->listen(std::move(options)); }
  /// Runs the panel's settings again, and shows what was on show before beside it, at the same
  /// place.
  void whatIf() { runs_->whatIf(); }
  /// Fills a projector's screen with the stage alone; Space goes on.
  void setPresenting(bool presenting) { page_->setPresenting(presenting); }
  void setTheme(const Theme& theme) { page_->setTheme(theme); }
  /// Throws usageError when there is no such view.
  void showView(const QString& name) { page_->stage()->show(name); }
  /// Returns the parts of the window.
  WindowPage& page() { return *page_; }
  /// Saves the place of the window, its borders and panels, the theme that the user chose, and how
  /// much the unpinned runs may take.
  void saveSettings(QSettings& settings) const;
  void restoreSettings(const QSettings& settings);
  /// Removes the oldest unpinned runs when all of them take more than the limit, and says which.
  void removeOldRuns();
  /// Compares what is on show with another recording, in the Compare view. `floor` is a second
  /// recording of the same run, or empty.
  void compareWith(const QString& other, const QString& floor) {
    viewing_.comparison.with(other, floor);
  }

  Viewing& viewing() { return viewing_; }
  Session& session() { return viewing_.session; }
  Navigator& navigator() { return viewing_.navigator; }
  Player& player() { return viewing_.player; }
  EngineLink& engine() { return engine_; }
  JobLink& job() { return job_; }
  HistoryControl& history() { return *history_; }

 Q_SIGNALS:
  /// The file asked for last is shown, or could not be opened.
  void opened(const QString& failure);
  /// The user chose something that saveSettings() saves and that no later window may miss.
  void settingsChanged();

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void connectParts();
  void refreshStatus();

  ShownRun shown_;
  Viewing viewing_;
  Viewing before_;  ///< the second recording of a comparison
  EngineLink engine_;
  JobLink job_;
  WindowPage* page_;
  BesideControl* beside_;
  RunControl* runs_;
  JobControl* jobs_;
  RecordingControl* recordings_;
  HistoryControl* history_;
  QuizControl* quiz_;
  LessonControl* lessons_;
  QTimer frames_;
  QElapsedTimer frame_clock_;
};

}  // namespace ringscope::viz
