// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/lessons/lesson.h"

#include <algorithm>
#include <sstream>

#include "traces/format/core/error.h"
#include "traces/format/schema/names.h"
#include "viz/lessons/lesson_facts.h"

namespace ringscope::viz {
namespace {

const std::vector<std::string> kLineKeys = {"run", "otherwise", "view", "expect", "hint"};
const std::vector<std::string> kPlaceKeys = {"step", "layer", "direction", "ring_step", "rank"};
const std::vector<std::string> kTaskKinds = {"selected", "run", "number", "choice"};
constexpr std::string_view kOpen = "<!-- ", kClose = " -->";

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::vector<std::string> splitText(const std::string& text, char border) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, border);)
    if (std::string kept = trimmed(part); !kept.empty()) parts.push_back(std::move(kept));
  return parts;
}

/// Reads the lines of one file.
class LessonReader {
 public:
  LessonReader(std::string id, std::string source) : source_(std::move(source)) {
    lesson_.id = std::move(id);
  }

  void read(const std::string& line) {
    ++number_;
    if (line.starts_with("# ")) {
      lesson_.title = trimmed(line.substr(2));
    } else if (line.starts_with("## ")) {
      finishStep();
      lesson_.steps.emplace_back();
      lesson_.steps.back().title = trimmed(line.substr(3));
      lesson_.steps.back().line = number_;
    } else if (line.starts_with(kOpen)) {
      readComment(trimmed(line));
    } else {
      addText(lesson_.steps.empty() ? lesson_.sentence : lesson_.steps.back().text, trimmed(line));
    }
  }

  Lesson finish() {
    if (lesson_.title.empty()) fail(1, "the title is missing. Begin with a line '# TITLE'");
    if (lesson_.sentence.empty())
      fail(1, "the sentence under the title is missing. Say what the reader learns");
    if (lesson_.steps.empty()) fail(number_, "no step was found. Add a line '## STEP'");
    finishStep();
    return std::move(lesson_);
  }

 private:
  [[noreturn]] void fail(int line, const std::string& problem) const {
    throw inputError(source_ + ":" + std::to_string(line) + ": " + problem);
  }
  void requireKnown(const char* kind, const std::string& word,
                    const std::vector<std::string>& known) const {
    if (std::ranges::find(known, word) == known.end())
      fail(number_, traces::unknownName(kind, word, known));
  }

  /// Joins lines to paragraphs. The marks of Markdown for code and emphasis are left out.
  static void addText(std::string& text, std::string line) {
    std::erase_if(line, [](char letter) { return letter == '`' || letter == '*'; });
    if (line.empty()) {
      if (!text.empty() && !text.ends_with("\n\n")) text += "\n\n";
      return;
    }
    if (!text.empty() && !text.ends_with('\n')) text += ' ';
    text += line;
  }

  void readComment(const std::string& line) {
    const auto colon = line.find(": ");
    if (!line.ends_with(kClose) || colon == std::string::npos)
      fail(number_, "a comment must have the form '<!-- KEY: VALUE -->'");
    if (lesson_.steps.empty()) fail(number_, "a comment must stand below the heading of a step");
    const std::string key = line.substr(kOpen.size(), colon - kOpen.size());
    const std::string value =
        trimmed(line.substr(colon + 2, line.size() - colon - 2 - kClose.size()));
    requireKnown("key", key, kLineKeys);
    LessonStep& step = lesson_.steps.back();
    if (key == "run") step.run = readSettings(splitText(value, ' '));
    if (key == "otherwise") readOtherwise(step, value);
    if (key == "view") readView(step, splitText(value, ' '));
    if (key == "expect") readTask(step, value);
    if (key == "hint") step.hint = value;
  }

  void readOtherwise(LessonStep& step, const std::string& value) const {
    requireKnown("recording", value, {"sample"});
    step.opens_sample = true;
  }

  LessonSettings readSettings(const std::vector<std::string>& words) const {
    LessonSettings settings;
    for (const std::string& word : words) {
      const auto equals = word.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
        fail(number_, "'" + word + "' must have the form KEY=VALUE");
      settings[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return settings;
  }

  void requirePlace(const LessonSettings& place, bool with_view) const {
    std::vector<std::string> known = kPlaceKeys;
    if (with_view) known.emplace_back("view");
    for (const auto& [key, value] : place) {
      requireKnown("part of a place", key, known);
      const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
      const bool is_fact = key == "rank" && std::ranges::count(factNames(), value) > 0;
      if (key == "direction") requireKnown("direction", value, {"forward", "backward"});
      if (key != "direction" && key != "view" && !is_number && !is_fact)
        fail(number_, std::string("'").append(key).append("=").append(value).append(
                          "' is neither a number nor a fact"));
    }
  }

  void readView(LessonStep& step, std::vector<std::string> words) const {
    step.view = words.empty() ? "" : words.front();
    if (!words.empty()) words.erase(words.begin());
    step.place = readSettings(words);
    requirePlace(step.place, false);
  }

  void readTask(LessonStep& step, const std::string& value) const {
    std::vector<std::string> words = splitText(value, ' ');
    const std::string kind = words.empty() ? "" : words.front();
    requireKnown("task", kind, kTaskKinds);
    words.erase(words.begin());
    step.task.kind =
        static_cast<LessonTask::Kind>(std::ranges::find(kTaskKinds, kind) - kTaskKinds.begin());
    if (words.empty()) fail(number_, "'" + kind + "' needs a setting or a fact");
    if (!step.task.isQuestion()) {
      step.task.settings = readSettings(words);
      if (kind == "selected") requirePlace(step.task.settings, true);
      return;
    }
    step.task.fact = words.front();
    requireKnown("fact", step.task.fact, factNames());
    if (kind == "choice")
      step.task.choices =
          splitText(value.substr(value.find(step.task.fact) + step.task.fact.size()), '|');
    if (kind == "choice" && step.task.choices.size() < 2)
      fail(number_, "a choice needs at least two words with '|' between them");
  }

  void finishStep() {
    if (lesson_.steps.empty()) return;
    LessonStep& step = lesson_.steps.back();
    step.text = trimmed(step.text);
    while (step.text.ends_with('\n')) step.text.pop_back();
    while (lesson_.sentence.ends_with('\n')) lesson_.sentence.pop_back();
    const bool has_task = !step.task.settings.empty() || !step.task.fact.empty();
    if (step.text.empty()) fail(step.line, "the step has no text");
    if (!has_task) fail(step.line, "the step has no task. Add a line '<!-- expect: … -->'");
    if (step.hint.empty()) fail(step.line, "the step has no hint. Add a line '<!-- hint: … -->'");
    if (step.view.empty()) fail(step.line, "the step has no view. Add a line '<!-- view: … -->'");
  }

  Lesson lesson_;
  std::string source_;
  int number_ = 0;
};

}  // namespace

Lesson parseLesson(const std::string& id, const std::string& text, const std::string& source) {
  LessonReader reader(id, source);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) reader.read(line);
  return reader.finish();
}

}  // namespace ringscope::viz
