// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/lesson_panel.h"
#include "viz/window/recording_control.h"
#include "viz/window/run_control.h"

namespace ringscope::viz {

/// The lessons in the window: begins each step with its run, recording and view, and ticks the step
/// when the learner has done it.
class LessonControl : public QObject {
  Q_OBJECT
 public:
  LessonControl(const WindowParts& parts, RunControl& runs, RecordingControl& recordings,
                bool has_engine, QObject* parent);

  /// Shows the panel and begins the step at which the lessons were left.
  void start();
  void close();
  bool isShown() const { return shown_; }
  const LessonProgress& progress() const { return progress_; }

 Q_SIGNALS:
  /// The lessons take the stage.
  void taking();

 private:
  /// The event before which the learner's deeds do not count. A recording that is opened plays at
  /// first.
  enum class Awaited { kNothing, kRun, kRecording, kPlace };
  void begin();
  /// Starts the run of the step, or opens its recording. Returns false when the step has neither.
  bool beginSource();
  /// Shows the view and the place of the step as soon as its recording is complete.
  void showPlace();
  void answer(const QString& words);
  /// Ticks the step when its task is done.
  void judge();
  void finishStep(const QString& words);
  LessonSituation situation() const;

  WindowParts parts_;
  RunControl& runs_;
  RecordingControl& recordings_;
  LessonProgress progress_;
  bool has_engine_;
  bool shown_ = false;
  Awaited awaited_ = Awaited::kNothing;
};

}  // namespace ringscope::viz
