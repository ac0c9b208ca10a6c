// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/lessons/lesson_progress.h"

#include <algorithm>
#include <cmath>

#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"
#include "traces/plan/run_rules.h"

namespace ringscope::viz {
namespace {

using traces::Trace;

/// Returns the number of a setting, which is written out or is a fact; nullopt without the fact.
std::optional<int> settingNumber(const std::string& value, const Trace& trace,
                                 const Cursor& cursor) {
  if (value.find_first_not_of("0123456789") == std::string::npos) return std::stoi(value);
  const auto fact = readFact(value, trace, cursor);
  return fact ? std::optional(static_cast<int>(std::lround(fact->number))) : std::nullopt;
}

bool hasPart(const std::string& key, const std::string& value, const LessonSituation& now) {
  const Place& place = now.cursor.place;
  if (key == "view") return now.view == value;
  if (key == "direction") return traces::name(place.direction) == value;
  const auto number = settingNumber(value, now.trace, now.cursor);
  if (!number) return false;
  if (key == "step") return place.train_step == *number;
  if (key == "layer") return place.layer == Layer::of(*number);
  if (key == "ring_step") return place.stage == RingStep::of(*number);
  return now.cursor.rank == WorldRank::of(*number);
}

bool wasRunWith(const traces::RunSpec& run, const std::string& key, const std::string& value) {
  if (key == "balance") return traces::name(traces::chosenBalance(run)) == value;
  const nlohmann::json fields = traces::toJson(run);
  if (!fields.contains(key)) return false;
  const nlohmann::json& field = fields[key];
  return (field.is_string() ? field.get<std::string>() : field.dump()) == value;
}

}  // namespace

Cursor stepCursor(const LessonStep& step, const Trace& trace, Cursor cursor) {
  cursor.group = 0;
  cursor.token = TokenIndex::none();
  cursor.axis = Axis::kRingStep;
  cursor.phase = 0.5;
  for (const auto& [key, value] : step.place) {
    if (key == "direction") {
      cursor.place.direction =
          value == "forward" ? traces::Direction::kForward : traces::Direction::kBackward;
      continue;
    }
    const int number = settingNumber(value, trace, cursor).value_or(0);
    if (key == "step") cursor.place.train_step = number;
    if (key == "layer") cursor.place.layer = Layer::of(number);
    if (key == "ring_step") cursor.place.stage = RingStep::of(number);
    if (key == "rank") cursor.rank = WorldRank::of(number);
  }
  return cursor;
}

bool isDone(const LessonTask& task, const LessonSituation& now) {
  if (task.isQuestion() || !now.finished || now.trace.moments().empty()) return false;
  if (task.kind == LessonTask::Kind::kSelect)
    return std::ranges::all_of(task.settings, [&](const auto& setting) {
      return hasPart(setting.first, setting.second, now);
    });
  const traces::RunSpec* run = now.trace.run();
  return run && std::ranges::all_of(task.settings, [&](const auto& setting) {
           return wasRunWith(*run, setting.first, setting.second);
         });
}

std::optional<LessonFact> askedFact(const LessonStep& step, const Trace& trace) {
  if (trace.moments().empty()) return std::nullopt;
  return readFact(step.task.fact, trace, stepCursor(step, trace, {}));
}

bool isRight(const LessonTask& task, const LessonFact& fact, const std::string& answer) {
  if (task.kind == LessonTask::Kind::kChoice) return answer == fact.word;
  std::string text = answer;
  std::ranges::replace(text, ',', '.');
  double number = 0;
  try {
    number = std::stod(text);
  } catch (const std::exception&) {
    return false;
  }
  // Whatever follows the number is its unit.
  return std::abs(number - fact.number) <= fact.tolerance + 1e-9;
}

LessonProgress::LessonProgress(const std::vector<Lesson>& lessons) : lessons_(lessons) {
  if (lessons.empty()) throw usageError("there are no lessons");
  for (const Lesson& lesson : lessons) done_.emplace_back(lesson.steps.size(), false);
}

bool LessonProgress::isLast() const {
  return lesson_ + 1 == lessons_.size() && step_ + 1 == lesson().steps.size();
}

bool LessonProgress::isLessonDone(std::size_t lesson) const {
  return std::ranges::count(done_.at(lesson), false) == 0;
}

void LessonProgress::choose(std::size_t lesson) {
  lesson_ = std::min(lesson, lessons_.size() - 1);
  step_ = 0;
}

void LessonProgress::next() {
  if (isLast()) return;
  if (++step_ < lesson().steps.size()) return;
  choose(lesson_ + 1);
}

void LessonProgress::back() {
  if (isFirst()) return;
  if (step_ > 0) {
    --step_;
    return;
  }
  choose(lesson_ - 1);
  step_ = lesson().steps.size() - 1;
}

}  // namespace ringscope::viz
