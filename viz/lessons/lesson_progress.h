// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/lessons/lesson.h"
#include "viz/lessons/lesson_facts.h"

namespace ringscope::viz {

/// The recording, the cursor and the view that a learner has on show.
struct LessonSituation {
  const traces::Trace& trace;
  const Cursor& cursor;
  std::string view;
  bool finished = true;  ///< false while a run is under way
};

/// Returns the cursor at the beginning of a step.
Cursor stepCursor(const LessonStep& step, const traces::Trace& trace, Cursor cursor);

/// Reports whether a task without a question is done.
bool isDone(const LessonTask& task, const LessonSituation& now);

/// Returns the fact that a question is about, at the place of its step; nullopt if the recording
/// does not contain it.
std::optional<LessonFact> askedFact(const LessonStep& step, const traces::Trace& trace);

/// Reports whether an answer names the fact. A number may have a decimal point or comma.
bool isRight(const LessonTask& task, const LessonFact& fact, const std::string& answer);

/// The lessons of one window: which step is on show, and which steps are done.
class LessonProgress {
 public:
  /// Throws usageError without a lesson.
  explicit LessonProgress(const std::vector<Lesson>& lessons);

  const std::vector<Lesson>& lessons() const { return lessons_; }
  const Lesson& lesson() const { return lessons_[lesson_]; }
  const LessonStep& step() const { return lesson().steps[step_]; }
  std::size_t lessonIndex() const { return lesson_; }
  std::size_t stepIndex() const { return step_; }
  bool isFirst() const { return lesson_ == 0 && step_ == 0; }
  bool isLast() const;
  /// Reports whether a step of the lesson on show is done.
  bool isDone(std::size_t step) const { return done_[lesson_][step]; }
  bool isLessonDone(std::size_t lesson) const;

  void choose(std::size_t lesson);
  /// Goes to the next step, or to the first step of the next lesson.
  void next();
  void back();
  void setDone() { done_[lesson_][step_] = true; }

 private:
  const std::vector<Lesson>& lessons_;
  std::vector<std::vector<bool>> done_;
  std::size_t lesson_ = 0, step_ = 0;
};

}  // namespace ringscope::viz
