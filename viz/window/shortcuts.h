// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/window/history_control.h"
#include "viz/window/job_control.h"
#include "viz/window/lesson_control.h"
#include "viz/window/notes_control.h"
#include "viz/window/quiz_control.h"
#include "viz/window/recording_control.h"
#include "viz/window/run_control.h"
#include "viz/window/save_control.h"

namespace ringscope::viz {

/// The targets of the keys of the window.
struct ShortcutTargets {
  Viewing& viewing;
  WindowPage& page;
  BesideControl& beside;
  RunControl& runs;
  JobControl& jobs;
  RecordingControl& recordings;
  HistoryControl& history;
  NotesControl& notes;
  SaveControl& saves;
  QuizControl& quiz;
  LessonControl& lessons;
  EngineLink& engine;
  JobLink& job;
};

/// Gives the window its commands: actions with a text, most of them with a key, and the palette
/// that lists them.
void addShortcuts(QWidget& window, const ShortcutTargets& targets);

}  // namespace ringscope::viz
