// SPDX-License-Identifier: GPL-3.0-or-later
// What the main window does with a job that sends its recording.
#include <QFileInfo>

#include "viz/window/main_window.h"

namespace ringscope::viz {

void MainWindow::listen(traces::ListenOptions options) {
  if (options.folder.empty()) {
    job_hold_ = runs_.reserveJob(QDateTime::currentDateTime());
    options.folder = job_hold_.path().toStdString();
  }
  job_.listen(std::move(options));
}

void MainWindow::connectJob() {
  connect(&job_, &JobLink::jobBegan, this, [this] {
    job_hold_ = runs_.adopt(QString::fromStdString(job_.job().folder));
    // What somebody looks at stays until he asks for the job.
    if (engine_.active() || (!viewing_.session.empty() && !shows_job_))
      return job_bar_->setShown(false);
    showJob();
  });
  connect(&job_, &JobLink::grew, this, &MainWindow::jobGrew);
  connect(&job_, &JobLink::jobEnded, this, &MainWindow::jobEnded);
  connect(&job_, &JobLink::changed, this, &MainWindow::refreshStatus);
  connect(job_bar_, &JobBar::showRequested, this, &MainWindow::showJob);
}

void MainWindow::showJob() {
  engine_.stop();
  closeComparison();
  background_.cancel("open");
  message_.clear();
  told_.clear();
  visited_.clear();
  shows_job_ = true;
  job_bar_->setShown(true);
  setShownPath(QString::fromStdString(job_.job().folder));
  run_panel_->setRecording({});
  viewing_.session.open(job_.trace() ? job_.trace() : std::make_shared<traces::Trace>(),
                        QFileInfo(trace_path_).fileName(), job_.live());
  if (job_.diagnosis()) viewing_.session.setDiagnosis(*job_.diagnosis());
  viewing_.player.setFollowing(job_.live());
}

/// Something else is shown; the job goes on being received.
void MainWindow::leaveJob() {
  if (!shows_job_) return;
  shows_job_ = false;
  job_bar_->setShown(false);
}

void MainWindow::jobGrew() {
  if (!shows_job_) return;
  viewing_.session.grow(job_.trace());
  if (job_.diagnosis()) viewing_.session.setDiagnosis(*job_.diagnosis());
}

void MainWindow::jobEnded() {
  if (!shows_job_) return;
  viewing_.session.setLive(false);
  const auto& problems = viewing_.session.trace().problems();
  if (!problems.empty()) message_ = QString::fromStdString(problems.front());
  if (!job_.problem().isEmpty()) message_ = job_.problem();
  run_panel_->setRecording(trace_path_);
  refreshStatus();
  removeOldRuns();
}

void MainWindow::pauseOrGo() {
  if (shows_job_) return job_.pause();
  engine_.state() == EngineLink::State::kPaused ? engine_.resume() : engine_.pause();
}

void MainWindow::stepOn() {
  shows_job_ ? job_.step() : engine_.step(traces::control::StepUnit::kStage);
}

}  // namespace ringscope::viz
