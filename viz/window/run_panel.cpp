// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_panel.h"

#include <QFileInfo>
#include <QGridLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/imported.h"
#include "viz/scene/groups.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

bool allExist(const std::vector<std::string>& paths) {
  return std::ranges::all_of(paths, [](const std::string& path) {
    return path.empty() || QFileInfo::exists(QString::fromStdString(path));
  });
}

/// Reports whether another program than RingScope's engine ran what was recorded.
bool isForeignJob(const traces::Trace& trace) {
  const auto* run = trace.run();
  return traces::isForeign(trace) || traces::importedFrom(trace) ||
         (run && run->command == traces::Command::kImport);
}

}  // namespace

RunPanel::RunPanel(const Session& session, EngineLink& engine, QWidget* parent)
    : QWidget(parent), session_(session), engine_(engine) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 18, 16, 16);
  column->setSpacing(8);
  auto* title = new QLabel("RUN", this);
  title->setObjectName("section");
  settings_ = new SettingsForm(this);
  break_ = new BreakBox(this);
  mistakes_ = new MistakesBox(this);
  shown_ = new QLabel(this);
  shown_->setObjectName("dim");
  shown_->setWordWrap(true);
  shown_->setAccessibleName("Job on show");
  run_state_ = new QLabel(this);
  run_state_->setObjectName("dim");
  run_state_->setWordWrap(true);
  column->addWidget(title);
  column->addWidget(shown_);
  column->addWidget(settings_);
  column->addLayout(makeButtons());
  column->addWidget(run_state_);
  column->addWidget(break_);
  column->addSpacing(8);
  column->addWidget(mistakes_);
  column->addStretch(1);
  connectControls();
  refresh();
}

QLayout* RunPanel::makeButtons() {
  auto* buttons = new QGridLayout;
  buttons->setSpacing(8);
  run_ = new QPushButton("Run", this);
  run_->setObjectName("primary");
  what_if_ = new QPushButton("What if", this);
  what_if_->setToolTip("Run again with what you changed, and show before and after side by side");
  pause_ = new QPushButton("Pause", this);
  step_ = new QPushButton("Ring step", this);
  step_->setToolTip("One ring step of the paused run");
  stop_ = new QPushButton("Stop", this);
  buttons->addWidget(run_, 0, 0);
  buttons->addWidget(what_if_, 0, 1);
  buttons->addWidget(pause_, 1, 0);
  buttons->addWidget(step_, 1, 1);
  buttons->addWidget(stop_, 2, 0);
  return buttons;
}

void RunPanel::connectControls() {
  connect(settings_, &SettingsForm::changed, this, &RunPanel::refresh);
  connect(mistakes_, &MistakesBox::changed, this, &RunPanel::refresh);
  connect(run_, &QPushButton::clicked, this, &RunPanel::runRequested);
  connect(what_if_, &QPushButton::clicked, this, &RunPanel::whatIfRequested);
  connect(pause_, &QPushButton::clicked, this, [this] {
    engine_.state() == EngineLink::State::kPaused ? engine_.resume() : engine_.pause();
  });
  connect(step_, &QPushButton::clicked, this,
          [this] { engine_.step(traces::control::StepUnit::kStage); });
  connect(stop_, &QPushButton::clicked, this, [this] { engine_.stop(); });
  connect(break_, &BreakBox::changed, this, [this] { engine_.setBreak(break_->request()); });
  connect(&engine_, &EngineLink::started, this, [this] { engine_.setBreak(break_->request()); });
  connect(&engine_, &EngineLink::stateChanged, this, &RunPanel::refresh);
  connect(&session_, &Session::dataChanged, this, &RunPanel::showRecorded);
}

RunConfig RunPanel::config() const {
  RunConfig config = settings_->config();
  config.mistakes = mistakes_->chosen();
  config.sealed = mistakes_->sealed();
  return config;
}

void RunPanel::setConfig(const RunConfig& config) {
  settings_->setConfig(config);
  mistakes_->setChosen(config.mistakes);
}

/// Returns the number of ring steps of the first pass; 0 while nothing is recorded.
int RunPanel::ringSteps() const {
  const auto& moments = session_.trace().moments();
  if (moments.empty()) return 0;
  return countRingSteps(session_.trace(), moments.front(), groupRanks(session_.trace(), 0));
}

/// A recording that was opened says itself how it was made.
void RunPanel::showRecorded() {
  const auto* run = session_.trace().run();
  if (!run) return refresh();
  // While nothing is recorded of a run that starts, its configuration says how many there will be.
  const int steps = ringSteps() > 0 ? ringSteps() : run->cp;
  if (run->model.layers > 0)
    break_->setRanges(static_cast<int>(run->model.layers), std::max(1, steps));
  recorded_.reset();
  recorded_refusal_.clear();
  // A job that was recorded elsewhere cannot be started here: the form keeps its own settings.
  if (session_.live() || isForeignJob(session_.trace())) return refresh();
  recorded_ = *run;
  RunConfig config = this->config();
  const traces::RunSpec form = config;
  static_cast<traces::RunSpec&>(config) = *run;
  config.capture = form.capture;
  // The form starts ranks itself: threads, or processes of its own.
  if (config.launch == traces::Launch::kEnv) config.launch = traces::Launch::kProcesses;
  // A recording may come from another machine, where its files are not.
  const auto or_of_form = [](std::string& file, const std::string& of_form) {
    if (!allExist({file})) file = allExist({of_form}) ? of_form : "";
  };
  or_of_form(config.model_dir, form.model_dir);
  or_of_form(config.tokens, form.tokens);
  or_of_form(config.tokenizer, form.tokenizer);
  if (!allExist(config.text)) config.text = allExist(form.text) ? form.text : decltype(form.text)();
  setConfig(config);
  recorded_refusal_ = reasonAgainst(this->config());
  refresh();
}

RunConfig RunPanel::recordedConfig() const {
  RunConfig config = this->config();
  if (!recorded_) return config;
  config.text = recorded_->text;
  config.tokens = recorded_->tokens;
  config.tokenizer = recorded_->tokenizer;
  config.model_dir = recorded_->model_dir;
  return config;
}

/// Why the next run has other data than the recording on show; empty: it has the same, or others
/// were chosen.
QString RunPanel::missingData() const {
  if (!recorded_ || !canRunAgain()) return {};
  const RunConfig now = config();
  const QString instead = now.text.empty() && now.tokens.empty() ? "the sample text" : "another";
  if (recorded_->text.empty() && recorded_->tokens.empty())
    return "▲ the recording does not say what text it had: a run has " + instead;
  std::vector<std::string> files = recorded_->text;
  for (const auto& file : {recorded_->tokens, recorded_->tokenizer, recorded_->model_dir})
    files.push_back(file);
  for (const std::string& file : files)
    if (!allExist({file}))
      return QString("▲ %1 is not here: a run has %2 instead").arg(file.c_str(), instead);
  return {};
}

/// Says which injected mistakes of the recording on show changed nothing. Ticked mistakes say what
/// would show them.
QString RunPanel::unseenMistakes() const {
  const auto& count = session_.trace().note(traces::kUnseenMistakesNote);
  if (!count.is_number_integer()) return {};
  QString text = QString::fromStdString(
      "▲ " + traces::describeCount(count.get<std::int64_t>(), "injected mistake") +
      " changed nothing of this run");
  for (const QString& chosen : mistakes_->chosen())
    if (const auto* mistake = traces::findMistake(chosen.section(':', 0, 0).toStdString());
        mistake && !mistake->when_unseen.empty())
      text += QString::fromStdString(": " + mistake->id + ", because " + mistake->when_unseen);
  return text;
}

bool RunPanel::canRunAgain() const {
  const auto* run = session_.trace().run();
  const bool attends = run && run->command == traces::Command::kAttend;
  return !session_.trace().moments().empty() && !attends && !isForeignJob(session_.trace());
}

void RunPanel::refresh() {
  using State = EngineLink::State;
  const State state = engine_.state();
  // Settings that cannot work are refused with the reason before anything starts.
  const RunConfig next = config();
  mistakes_->offerFor(next);
  const QString reason = reasonAgainst(next);
  run_->setEnabled(reason.isEmpty() && state != State::kStopping);
  run_->setText(canRunAgain() || engine_.active() ? "Run again" : "Run");
  what_if_->setEnabled(reason.isEmpty() && !engine_.active() && canRunAgain());
  pause_->setText(state == State::kPaused ? "Continue" : "Pause");
  pause_->setEnabled(state == State::kRunning || state == State::kPaused);
  step_->setEnabled(state == State::kPaused);
  stop_->setEnabled(engine_.active());
  const bool foreign = !session_.trace().moments().empty() && isForeignJob(session_.trace());
  shown_->setText(foreign ? describeForeign() : QString());
  shown_->setVisible(foreign);
  settings_->markDifferences(foreign ? nullptr : session_.trace().run());
  run_state_->setText(describeState(reason));
}

/// Says which job is on show, because the settings of the form are not that job's.
QString RunPanel::describeForeign() const {
  const traces::Trace& trace = session_.trace();
  QStringList facts;
  if (const auto imported = traces::importedFrom(trace))
    facts << "imported from " + QString::fromStdString(imported->format);
  if (const auto* run = trace.run()) {
    if (run->model.layers > 0)
      facts << QString::fromStdString(run->model.name + ", " +
                                      traces::describeCount(run->model.layers, "layer"));
    facts << QString("dp %1, tp %2, cp %3").arg(run->dp).arg(run->tp).arg(run->cp);
    if (run->balance) facts << QString("balance ") + name(*run->balance);
  }
  return "On show: a job that was recorded elsewhere" +
         (facts.isEmpty() ? QString() : " (" + facts.join("; ") + ")") +
         ". RingScope cannot run this job. The settings below are not the job's: they are for a "
         "new run of " +
         (config().model_dir.empty() ? "the sample model." : "the model chosen here.");
}

/// The sentence below the buttons. `reason` says why the settings cannot be run, or is empty.
QString RunPanel::describeState(const QString& reason) const {
  if (!reason.isEmpty() && recorded_ && reason == recorded_refusal_)
    return "▲ the settings of this recording cannot be run from here: " + reason;
  if (!reason.isEmpty()) return "▲ " + reason;
  if (engine_.active()) return engine_.sentence();
  if (!session_.trace().moments().empty() && !canRunAgain())
    return isForeignJob(session_.trace())
               ? "recorded elsewhere: Run starts a run of RingScope's own"
               : "an attention by itself: Run starts a training";
  for (const QString& said : {missingData(), unseenMistakes()})
    if (!said.isEmpty()) return said;
  return engine_.sentence();
}

}  // namespace ringscope::viz
