// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/quiz_control.h"

#include <QDir>

#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/memory_estimate.h"

namespace ringscope::viz {
namespace {

constexpr const char* kProofView = "doctor";
constexpr int kTickMs = 250;

/// Returns the view and the place on show in one line.
std::string describeEvidence(const QString& view, const Cursor& cursor) {
  std::string line = view.toStdString() + " · " + traces::describe(cursor.place) + " · rank " +
                     toString(cursor.rank);
  if (cursor.token.exists()) line += " · token " + toString(cursor.token);
  return line;
}

QString titleFor(const QString& view) {
  for (const ViewEntry& entry : viewRegistry())
    if (entry.name == view) return entry.title;
  return view;
}

}  // namespace

QuizControl::QuizControl(const WindowParts& parts, RunControl& runs, RecordingControl& recordings,
                         EngineLink& engine, QObject* parent)
    : QObject(parent), parts_(parts), runs_(runs), recordings_(recordings), engine_(engine) {
  parent->installEventFilter(this);
  StartPage* doors = parts.page.start();
  connect(doors, &StartPage::quizRequested, this, [this, doors] {
    const auto [seed, rounds, minutes] = doors->quizChoice();
    start(static_cast<std::uint32_t>(seed), rounds, std::int64_t{60} * minutes);
  });
  const auto& [panel, answers, shown, sealed, theme] = parts.page.quiz();
  connect(panel, &QuizPanel::pinRequested, this, &QuizControl::pin);
  connect(panel, &QuizPanel::endRequested, this, &QuizControl::end);
  connect(panel, &QuizPanel::hintRequested, this, &QuizControl::takeHint);
  connect(panel, &QuizPanel::skipRequested, this, &QuizControl::skip);
  connect(panel, &QuizPanel::evidenceChosen, this, [this](int index) {
    const Pinned& pinned = pinned_.at(static_cast<std::size_t>(index));
    parts_.viewing.navigator.lead(pinned.view, pinned.cursor);
  });
  connect(answers, &AnswerPanel::answered, this, &QuizControl::answer);
  connect(answers, &AnswerPanel::revealRequested, this, &QuizControl::reveal);
  connect(answers, &AnswerPanel::nextRequested, this, &QuizControl::next);
  connect(answers, &AnswerPanel::pageRequested, this,
          [this] { parts_.page.stage()->show(kProofView); });
  connect(&engine, &EngineLink::stateChanged, this, &QuizControl::openRecording);
  connect(&parts.viewing.session, &Session::stateChanged, this, &QuizControl::refresh);
  // Something else that takes the stage ends the quiz.
  const auto leave_stage = [this] {
    if (!own_) leave();
  };
  connect(&runs, &RunControl::taking, this, leave_stage);
  connect(&recordings, &RecordingControl::taking, this, leave_stage);
  connect(&ticks_, &QTimer::timeout, this, &QuizControl::tick);
}

bool QuizControl::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Close) noteUnanswered();
  return QObject::eventFilter(watched, event);
}

void QuizControl::start(std::uint32_t seed, int rounds, std::int64_t limit) {
  leave();
  limit_ = limit;
  traces::RunSpec base = RunConfig().spec();
  base.model.heads = ModelShape().heads;  // of the sample model
  quiz_.emplace(base, seed, rounds);
  file_.clear();
  parts_.page.quiz().panel->setFile({});
  beginRound();
}

void QuizControl::beginRound() {
  pinned_.clear();
  awaited_ = false;
  parts_.page.stage()->show(viewRegistry().front().name);
  parts_.page.showQuiz(true, true);
  RunConfig config;
  static_cast<traces::RunSpec&>(config) = quiz_->round().run;
  config.sealed = {QString::fromStdString(quiz_->round().mistake)};
  parts_.page.runPanel()->setConfig(config);  // the form may have had another model
  own_ = true;
  runs_.start(config);
  own_ = false;
  clock_.start();
  ticks_.start(kTickMs);
  parts_.page.quiz().panel->setTime(0, limit_);
  refresh();
}

void QuizControl::pin() {
  if (!quiz_ || quiz_->isAnswered()) return;
  const QString view = parts_.page.stage()->shown();
  const Cursor& cursor = parts_.viewing.navigator.cursor();
  const std::size_t before = quiz_->evidence().size();
  quiz_->pin(describeEvidence(titleFor(view), cursor));
  if (quiz_->evidence().size() > before) pinned_.push_back({view, cursor});
  refresh();
}

void QuizControl::takeHint() {
  if (!quiz_) return;
  quiz_->takeHint();
  refresh();
}

void QuizControl::skip() {
  noteUnanswered();
  refresh();
}

void QuizControl::tick() {
  if (!quiz_ || quiz_->isAnswered()) return;
  parts_.page.quiz().panel->setTime(seconds(), limit_);
  if (limit_ > 0 && seconds() >= limit_) skip();
}

void QuizControl::answer(const QString& mistake, const NamedPlace& where, const QString& because) {
  if (!quiz_) return;
  quiz_->explain(where, because.toStdString());
  quiz_->answer(mistake.toStdString(), seconds());
  parts_.page.quiz().panel->setTime(seconds(), limit_);
  save();
  refresh();
}

void QuizControl::reveal() {
  if (!quiz_) return;
  quiz_->reveal();
  if (quiz_->isSealed()) return;
  parts_.page.showQuiz(true, false);
  awaited_ = true;
  if (engine_.active()) engine_.stop();
  openRecording();
  refresh();
}

void QuizControl::openRecording() {
  if (!awaited_ || engine_.active()) return;
  awaited_ = false;
  parts_.page.stage()->show(kProofView);
  own_ = true;
  const auto done = std::make_shared<QMetaObject::Connection>();
  *done = connect(&recordings_, &RecordingControl::opened, this, [this, done] {
    disconnect(*done);
    own_ = false;
    refresh();
  });
  recordings_.open(parts_.shown.path());
}

void QuizControl::next() {
  if (!quiz_) return;
  if (quiz_->isLast()) return end();
  quiz_->next();
  beginRound();
}

void QuizControl::end() {
  if (!quiz_) return;
  const bool sealed = quiz_->isSealed();
  leave();
  if (!sealed) return;
  awaited_ = true;
  if (engine_.active()) engine_.stop();
  openRecording();
}

void QuizControl::leave() {
  if (!quiz_) return;
  noteUnanswered();
  const ScoreSheet& sheet = quiz_->sheet();
  const QString said =
      tr("The quiz has ended: %1 right of %2").arg(sheet.countRight()).arg(sheet.results().size());
  quiz_.reset();
  awaited_ = false;
  ticks_.stop();
  parts_.page.showQuiz(false, false);
  parts_.page.stage()->notice()->show(said, tr("The score sheet is %1").arg(file_));
}

void QuizControl::noteUnanswered() {
  if (!quiz_ || quiz_->isAnswered()) return;
  quiz_->skip(seconds());
  save();
}

void QuizControl::save() {
  try {
    if (file_.isEmpty())
      file_ = QString("%1/%2 quiz seed %3.csv")
                  .arg(parts_.shown.folder().path(),
                       QDateTime::currentDateTime().toString("yyyy-MM-dd HH-mm-ss"))
                  .arg(quiz_->seed());
    quiz_->sheet().save(file_.toStdString());
    parts_.page.quiz().panel->setFile(file_);
  } catch (const Error& error) {
    parts_.page.status()->setProblem(error.what());
  }
}

void QuizControl::refresh() {
  if (!quiz_) return;
  const bool open = !quiz_->isSealed() && !awaited_ && !own_;
  const auto& diagnosis = parts_.viewing.session.diagnosis();
  if (open && diagnosis && !quiz_->isPlaceJudged()) {
    quiz_->judgePlace(*diagnosis);
    save();
  }
  parts_.page.quiz().panel->show(*quiz_);
  parts_.page.quiz().answers->show(*quiz_,
                                   open ? parts_.viewing.session.diagnosis() : std::nullopt);
}

}  // namespace ringscope::viz
