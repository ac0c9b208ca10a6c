// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/job_bar.h"

#include "viz/kit/bar.h"

namespace ringscope::viz {
namespace {

/// The most lines about waiting ranks: the stage must keep its room. The tooltip has all lines.
constexpr int kMostLines = 3;

}  // namespace

JobBar::JobBar(JobLink& job, QWidget* parent) : QWidget(parent), job_(job) {
  const BarLayout bar(this);
  state_ = bar.title;
  state_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  waits_ = new ElidedLabel(this);
  waits_->setMostLines(kMostLines);
  waits_->setAccessibleName("Who waits for whom");
  waits_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  const auto button = [this](int width) {
    auto* made = new QToolButton(this);
    made->setMinimumWidth(width);
    return made;
  };
  pause_ = button(96);
  step_ = button(96);
  step_->setText("Next step");
  step_->setToolTip("On to the next step border (F10)");
  show_ = button(80);
  show_->setText("Show job");
  show_->setToolTip("Show the job again in place of what was opened");
  for (QToolButton* one : {pause_, step_, show_}) bar.head->addWidget(one);
  bar.column->addWidget(waits_);
  connect(pause_, &QToolButton::clicked, &job_, &JobLink::pause);
  connect(step_, &QToolButton::clicked, &job_, &JobLink::step);
  connect(show_, &QToolButton::clicked, this, &JobBar::showRequested);
  connect(&job_, &JobLink::changed, this, &JobBar::refresh);
  setJobOnStage(true);
  refresh();
}

void JobBar::setJobOnStage(bool on_stage) {
  show_->setVisible(!on_stage);
}

void JobBar::setWarningColor(const QColor& color) {
  waits_->setStyleSheet(QString("color: %1").arg(color.name()));
}

void JobBar::refresh() {
  setVisible(job_.listening());
  const traces::JobSeen& job = job_.job();
  const bool waiting = job.number == 0;
  state_->setText(waiting ? job_.sentence() + " · start a job with " + job_.invitation()
                          : job_.sentence());
  state_->setToolTip(job_.live() ? QString() : "Start a job with\n" + job_.invitation());
  const bool going = job.pause == traces::PauseState::kGoing;
  const QString refusal = QString::fromStdString(job.pause_refusal);
  pause_->setText(going ? "Pause" : "Continue");
  pause_->setEnabled(!going || refusal.isEmpty());
  pause_->setToolTip(going && !refusal.isEmpty() ? refusal
                                                 : "Hold all ranks at one step border (F8)");
  step_->setEnabled(job.pause == traces::PauseState::kPaused);
  pause_->setVisible(job_.live());
  step_->setVisible(job_.live());
  waits_->setText(job_.waits().isEmpty() ? QString() : "▲ " + job_.waits());
  waits_->setVisible(!job_.waits().isEmpty());
}

}  // namespace ringscope::viz
