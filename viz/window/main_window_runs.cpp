// SPDX-License-Identifier: GPL-3.0-or-later
// Where the main window's traces come from: live runs, what-ifs and recordings.
#include <QFileDialog>
#include <QFileInfo>

#include "traces/analysis/compare/report.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "viz/link/own_folder.h"
#include "viz/session/problem.h"
#include "viz/window/main_window.h"

namespace ringscope::viz {
void MainWindow::showProblem(const QString& problem) {
  message_ = problem;
  refreshStatus();
}

bool MainWindow::refuses(const RunConfig& config) {
  const QString reason = run_panel_->reasonAgainst(config);
  if (!reason.isEmpty()) showProblem(reason);
  return !reason.isEmpty();
}

void MainWindow::startRun(const RunConfig& config) {
  if (refuses(config)) return;
  closeComparison();
  last_config_ = config;
  run_panel_->setConfig(config);
  beginRun(config);
  viewing_.player.setPlaying(true);
}

void MainWindow::beginRun(RunConfig config) {
  if (engine_program_.isEmpty()) {
    message_ = "this installation only views recordings: the engine is not installed";
    return refreshStatus();
  }
  if (config.trace.isEmpty()) config.trace = runsFolder() + "/run.rscope";
  message_.clear();
  told_.clear();
  trace_path_ = config.trace;
  visited_.clear();
  background_.cancel("open");
  leaveJob();
  run_panel_->setRecording({});
  viewing_.session.open(std::make_shared<traces::Trace>(), QFileInfo(trace_path_).fileName(), true);
  try {
    engine_.start(engine_program_, config.arguments());
  } catch (const Error& error) {
    message_ = error.what();
    viewing_.session.setLive(false);
  }
}

void MainWindow::whatIf() {
  if (!run_panel_->canRunAgain() || engine_.active()) return;
  RunConfig config = run_panel_->config();
  if (refuses(config)) return;
  const QString change = changes(last_config_, config);
  last_config_ = config;
  const Cursor cursor = viewing_.navigator.cursor();
  const Place& place = cursor.place;
  // What is on show keeps its file: values are read from it when they are looked at.
  const QString other = runsFolder() + "/what-if-1.rscope";
  config.steps = place.train_step + 1;
  config.capture = "values:steps=" + std::to_string(place.train_step);
  config.trace = trace_path_ == other ? runsFolder() + "/what-if-2.rscope" : other;
  before_.session.open(viewing_.session.shareTrace(), viewing_.session.name(), false);
  before_.navigator.setCursor(cursor);
  const QString before = trace_path_;
  showBeforeStage();
  beginRun(config);
  kept_place_ = place;
  compare_->setChange(change);
  viewing_.comparison.withBefore(before);
}

/// The second recording of the Compare view, on a stage of its own.
void MainWindow::showBeside() {
  const auto runs = viewing_.comparison.runs();
  if (!runs) return;
  background_.request(
      "beside",
      [path = runs->other.path](const std::stop_token&) { return traces::openTrace(path); },
      [this, runs](const std::shared_ptr<traces::Trace>& trace) {
        if (viewing_.comparison.runs() != runs) return;
        const QString path = QString::fromStdString(runs->other.path);
        before_.session.open(trace, QFileInfo(path).fileName(), false);
        before_.session.readTracks(path);
        before_.navigator.setCursor(viewing_.navigator.cursor());
        QStringList settings;
        for (const std::string& setting : traces::describeSettings(runs->comparison))
          settings << QString::fromStdString(setting);
        showBeforeStage();
        compare_->setPair(settings.join(" · "));
        showView(viewRegistry().front().name);
      });
}

void MainWindow::closeComparison() {
  background_.cancel("beside");
  if (before_stage_) before_stage_->hide();
  before_.session.open(std::make_shared<traces::Trace>(), {}, false);
  compare_->hide();
  refreshPanels();
  kept_place_.reset();
  if (viewing_.comparison.before()) viewing_.comparison.close();
}

void MainWindow::runEnded(const QString& failure) {
  viewing_.session.publish();
  viewing_.session.setLive(false);
  keepPlace();
  message_ = failure;
  refreshStatus();
  if (!QFileInfo::exists(trace_path_)) return;
  run_panel_->setRecording(trace_path_);
  viewing_.session.diagnose(trace_path_);
}

void MainWindow::openTrace(const QString& path) {
  struct Result {
    std::shared_ptr<traces::Trace> trace;
    QString failure;
  };
  message_ = "opening " + path;
  refreshStatus();
  background_.request(
      "open",
      [path = path.toStdString()](const std::stop_token&) {
        Result result;
        try {
          result.trace = traces::openTrace(path);
        } catch (...) {
          result.failure = problemOf(std::current_exception());
        }
        return result;
      },
      [this, path](const Result& result) {
        message_ = result.failure;
        if (result.trace) {
          engine_.stop();
          leaveJob();
          closeComparison();
          visited_.clear();
          told_.clear();
          trace_path_ = path;
          viewing_.session.open(result.trace, QFileInfo(path).fileName(), false);
          if (!result.trace->problems().empty())
            message_ = QString::fromStdString(result.trace->problems().front());
          viewing_.player.setPlaying(true);
          run_panel_->setOpened(path);
          last_config_ = run_panel_->recordedConfig();
          viewing_.session.readTracks(path);
          viewing_.session.diagnose(path);
        }
        refreshStatus();
        Q_EMIT opened(result.failure);
      });
}

void MainWindow::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(this, "Open a recording", runsFolder(),
                                                    "RingScope traces (*.rscope);;All files (*)");
  if (!path.isEmpty()) openTrace(path);
}

}  // namespace ringscope::viz
