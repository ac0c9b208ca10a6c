// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ringscope::viz {

/// The settings of a machine-read line by their keys: "rank=2 ring_step=1".
using LessonSettings = std::map<std::string, std::string>;

/// The condition under which a step of a lesson is done.
struct LessonTask {
  enum class Kind {
    kSelect,  ///< the cursor and the view have the settings
    kRun,     ///< the recording on show has finished and was run with the settings
    kNumber,  ///< the learner enters the number that the fact has
    kChoice   ///< the learner chooses the word that the fact has
  };
  Kind kind = Kind::kSelect;
  LessonSettings settings;           ///< of kSelect and kRun
  std::string fact;                  ///< of kNumber and kChoice: a name that readFact() knows
  std::vector<std::string> choices;  ///< of kChoice

  bool isQuestion() const { return kind == Kind::kNumber || kind == Kind::kChoice; }
};

/// One step of a lesson: its text, what the window shows, and the task.
struct LessonStep {
  std::string title, text, hint;
  int line = 0;                       ///< of the heading in its file
  std::optional<LessonSettings> run;  ///< the run that begins the step; nullopt: none
  bool opens_sample = false;          ///< begins with the sample recording; with `run`: if the
                                      ///< engine is missing
  std::string view;                   ///< the view on show at the beginning
  LessonSettings place;               ///< the cursor at the beginning
  LessonTask task;
};

/// A lesson for the window: docs/lessons/<id>.md.
struct Lesson {
  std::string id, title, sentence;
  std::vector<LessonStep> steps;
};

/// Parses a lesson. The file has a title, a sentence, and a heading per step. Comment lines such as
/// `<!-- expect: selected rank=2 -->` hold what the window reads. Throws inputError that names
/// `source` and the line if the text has another form.
Lesson parseLesson(const std::string& id, const std::string& text, const std::string& source);

/// Returns all lessons in their order, as they were when this was compiled.
const std::vector<Lesson>& allLessons();

}  // namespace ringscope::viz
