// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_panel.h"

#include <QGridLayout>
#include <QVBoxLayout>

namespace ringscope::viz {

RunPanel::RunPanel(Hub& hub, EngineLink& engine, QWidget* parent)
    : QWidget(parent), hub_(hub), engine_(engine) {
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
  run_state_ = new QLabel(this);
  run_state_->setObjectName("dim");
  run_state_->setWordWrap(true);
  column->addWidget(title);
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
  connect(step_, &QPushButton::clicked, this, [this] { engine_.step("stage"); });
  connect(stop_, &QPushButton::clicked, this, [this] { engine_.stop(); });
  connect(break_, &BreakBox::changed, this, [this] { engine_.setBreak(break_->request()); });
  connect(&engine_, &EngineLink::started, this, [this] { engine_.setBreak(break_->request()); });
  connect(&engine_, &EngineLink::stateChanged, this, &RunPanel::refresh);
  connect(&hub_, &Hub::traceChanged, this, &RunPanel::showRecorded);
}

RunConfig RunPanel::config() const {
  RunConfig config = settings_->config();
  config.mistakes = mistakes_->chosen();
  return config;
}

void RunPanel::setConfig(const RunConfig& config) {
  settings_->setConfig(config);
  mistakes_->setChosen(config.mistakes);
}

/// A recording that was opened says itself how it was made.
void RunPanel::showRecorded() {
  const auto& run = hub_.trace().run();
  if (run.empty()) return;
  if (run.contains("model"))
    break_->setRanges(run["model"].value("layers", 2), std::max(1, hub_.scene().ring_steps));
  if (hub_.live()) return;
  RunConfig config = this->config();
  auto text = [&](const char* key, const QString& otherwise) {
    return QString::fromStdString(run.value(key, otherwise.toStdString()));
  };
  config.dp = run.value("dp", config.dp);
  config.tp = run.value("tp", config.tp);
  config.cp = run.value("cp", config.cp);
  config.steps = run.value("steps", config.steps);
  config.seq_len = run.value("seq_len", config.seq_len);
  config.strategy = text("strategy", config.strategy);
  config.balance = text("balance", config.balance);
  config.mask = text("mask", config.mask);
  config.window = run.value("window", config.window);
  config.dtype = text("dtype", config.dtype);
  config.launch = text("launch", config.launch) == "threads" ? "threads" : "processes";
  setConfig(config);
}

void RunPanel::refresh() {
  using State = EngineLink::State;
  const State state = engine_.state();
  // What cannot work is refused here, with the reason, before anything starts.
  const QString reason = refusal(config(), settings_->queryHeads());
  run_->setEnabled(reason.isEmpty() && state != State::kStopping);
  run_->setText(hub_.empty() && !engine_.active() ? "Run" : "Run again");
  what_if_->setEnabled(reason.isEmpty() && !engine_.active() && !hub_.empty());
  pause_->setText(state == State::kPaused ? "Continue" : "Pause");
  pause_->setEnabled(state == State::kRunning || state == State::kPaused);
  step_->setEnabled(state == State::kPaused);
  stop_->setEnabled(engine_.active());
  run_state_->setText(reason.isEmpty() ? engine_.sentence() : "▲ " + reason);
}

}  // namespace ringscope::viz
