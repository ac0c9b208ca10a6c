// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/lesson_control.h"

#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {
namespace {

RunConfig lessonConfig(const LessonSettings& settings) {
  nlohmann::json fields;
  for (const auto& [key, value] : settings) {
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    fields[key] = is_number ? nlohmann::json(std::stoll(value)) : nlohmann::json(value);
  }
  return RunConfig::fromJson(fields, "the lesson");
}

}  // namespace

LessonControl::LessonControl(const WindowParts& parts, RunControl& runs,
                             RecordingControl& recordings, bool has_engine, QObject* parent)
    : QObject(parent),
      parts_(parts),
      runs_(runs),
      recordings_(recordings),
      progress_(allLessons()),
      has_engine_(has_engine) {
  connect(parts.page.start(), &StartPage::lessonsRequested, this, &LessonControl::start);
  connect(parts.page.start(), &StartPage::quizRequested, this, &LessonControl::close);
  LessonPanel* panel = parts.page.lesson();
  connect(panel, &LessonPanel::lessonChosen, this, [this](int lesson) {
    progress_.choose(static_cast<std::size_t>(lesson));
    begin();
  });
  connect(panel, &LessonPanel::nextRequested, this, [this] {
    progress_.next();
    begin();
  });
  connect(panel, &LessonPanel::backRequested, this, [this] {
    progress_.back();
    begin();
  });
  connect(panel, &LessonPanel::answered, this, &LessonControl::answer);
  connect(panel, &LessonPanel::closeRequested, this, &LessonControl::close);
  const auto follow = [this] { awaited_ == Awaited::kRun ? showPlace() : judge(); };
  connect(&parts.viewing.session, &Session::stateChanged, this, follow);
  connect(&parts.viewing.session, &Session::dataChanged, this, follow);
  connect(&parts.viewing.navigator, &Navigator::cursorChanged, this, &LessonControl::judge);
  connect(&parts.viewing.player, &Player::changed, this, &LessonControl::judge);
  connect(parts.page.stage(), &StageArea::viewShown, this, &LessonControl::judge);
  connect(&recordings, &RecordingControl::opened, this, [this, panel](const QString& failure) {
    if (awaited_ != Awaited::kRecording) return;
    if (failure.isEmpty()) return showPlace();
    awaited_ = Awaited::kNothing;
    panel->say(failure, false);
  });
}

void LessonControl::start() {
  Q_EMIT taking();
  shown_ = true;
  parts_.page.showStart(false);
  parts_.page.showLesson(true);
  begin();
}

void LessonControl::close() {
  if (!shown_) return;
  shown_ = false;
  awaited_ = Awaited::kNothing;
  parts_.page.showLesson(false);
}

void LessonControl::begin() {
  awaited_ = Awaited::kNothing;
  parts_.page.lesson()->show(progress_);
  if (!beginSource()) showPlace();
}

bool LessonControl::beginSource() {
  const LessonStep& step = progress_.step();
  if (!step.run && !step.opens_sample) return false;
  if (progress_.isDone(progress_.stepIndex()) && !parts_.viewing.session.trace().moments().empty())
    return false;
  LessonPanel* panel = parts_.page.lesson();
  try {
    if (step.run && has_engine_) {
      awaited_ = Awaited::kRun;
      panel->say(tr("A run of this lesson is under way …"), true);
      runs_.start(lessonConfig(*step.run));
    } else if (step.opens_sample && !samplePath().isEmpty()) {
      awaited_ = Awaited::kRecording;
      panel->say(tr("The sample recording is being opened …"), true);
      recordings_.open(samplePath());
    } else {
      panel->say(step.run ? tr("This step needs the engine. Install ringscope[engine].")
                          : tr("The sample recording is missing from this installation."),
                 false);
    }
  } catch (const Error& error) {
    awaited_ = Awaited::kNothing;
    panel->say(error.what(), false);
  }
  return true;
}

void LessonControl::showPlace() {
  const Session& session = parts_.viewing.session;
  if (!shown_ || session.live() || session.trace().moments().empty()) return;
  awaited_ = Awaited::kPlace;
  parts_.page.lesson()->say({}, true);
  const LessonStep& step = progress_.step();
  parts_.viewing.player.setPlaying(false);
  parts_.page.stage()->show(QString::fromStdString(step.view));
  Navigator& navigator = parts_.viewing.navigator;
  navigator.setCursor(stepCursor(step, session.trace(), navigator.cursor()));
  awaited_ = Awaited::kNothing;
  if (step.task.isQuestion() && !askedFact(step, session.trace()))
    parts_.page.lesson()->say(tr("This recording has no answer to the question. Go back to the "
                                 "first step of the lesson."),
                              false);
}

LessonSituation LessonControl::situation() const {
  const Session& session = parts_.viewing.session;
  return {session.trace(), parts_.viewing.navigator.cursor(),
          parts_.page.stage()->shown().toStdString(), !session.live()};
}

void LessonControl::judge() {
  if (!shown_ || awaited_ != Awaited::kNothing || progress_.isDone(progress_.stepIndex())) return;
  const LessonTask& task = progress_.step().task;
  // A place that only the player passes was not chosen by the learner.
  if (task.kind == LessonTask::Kind::kSelect && parts_.viewing.player.playing()) return;
  if (isDone(task, situation())) finishStep(tr("✓ Done"));
}

void LessonControl::answer(const QString& words) {
  const LessonStep& step = progress_.step();
  LessonPanel* panel = parts_.page.lesson();
  if (words.isEmpty()) return panel->say(tr("Enter or choose an answer first."), false);
  const auto fact = askedFact(step, parts_.viewing.session.trace());
  if (!fact) return panel->say(tr("The recording on show has no answer to this question."), false);
  if (isRight(step.task, *fact, words.toStdString()))
    return finishStep(tr("✓ Right: %1").arg(QString::fromStdString(fact->word)));
  panel->say(tr("≠ The recording has another value than %1. Look again.").arg(words), false);
}

void LessonControl::finishStep(const QString& words) {
  progress_.setDone();
  parts_.page.lesson()->showTicks(progress_);
  parts_.page.lesson()->say(words, true);
}

}  // namespace ringscope::viz
