// SPDX-License-Identifier: GPL-3.0-or-later
// Where the main window's traces come from: live runs, what-ifs and recordings.
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QPointer>
#include <QStandardPaths>

#include "traces/core/error.h"
#include "viz/window/main_window.h"

namespace ringscope::viz {
namespace {

QString runsFolder() {
  const QString folder =
      QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/runs";
  QDir().mkpath(folder);
  return folder;
}

}  // namespace

void MainWindow::startRun(const RunConfig& config) {
  closeComparison();
  last_config_ = config;
  run_panel_->setConfig(config);
  beginRun(config);
  hub_.setPlaying(true);
}

void MainWindow::beginRun(RunConfig config) {
  if (engine_program_.isEmpty()) {
    message_ = "this installation only views recordings: the engine is not installed";
    return refreshStatus();
  }
  if (config.trace.isEmpty()) config.trace = runsFolder() + "/run.rscope";
  message_.clear();
  trace_path_ = config.trace;
  visited_.clear();
  ++request_;
  run_panel_->setRecording({});
  hub_.setTrace(std::make_shared<traces::Trace>(), QFileInfo(trace_path_).fileName(), true);
  try {
    engine_.start(engine_program_, config.arguments());
  } catch (const Error& error) {
    message_ = error.what();
    hub_.setLive(false);
  }
}

void MainWindow::whatIf() {
  if (hub_.empty() || engine_.active()) return;
  RunConfig config = run_panel_->config();
  const QString change = changes(last_config_, config);
  last_config_ = config;
  const Place place = hub_.place();
  // What is on show keeps its file: values are read from it when they are looked at.
  const QString other = runsFolder() + "/what-if-1.rscope";
  config.steps = place.train_step + 1;
  config.capture = QString("values:steps=%1").arg(place.train_step);
  config.trace = trace_path_ == other ? runsFolder() + "/what-if-2.rscope" : other;
  before_.setTrace(hub_.shareTrace(), hub_.name(), false);
  before_.setPlace(place);
  before_.setMoment(before_.moment(), hub_.phase());
  showBeforeStage();
  beginRun(config);
  kept_place_ = place;
  compare_->setChange(change);
}

void MainWindow::closeComparison() {
  if (before_stage_) before_stage_->hide();
  compare_->hide();
  refreshPanels();
  kept_place_.reset();
}

void MainWindow::runEnded(const QString& failure) {
  hub_.publish();
  hub_.setLive(false);
  keepPlace();
  message_ = failure;
  refreshStatus();
  if (!QFileInfo::exists(trace_path_)) return;
  run_panel_->setRecording(trace_path_);
  diagnoseFile(trace_path_);
}

/// Runs `make` on a worker thread and hands its value to `use` on this one, unless something newer
/// has been asked for since.
template <typename Make, typename Use>
void MainWindow::inBackground(Make make, Use use) {
  const int request = ++request_;
  QPointer<MainWindow> self(this);
  workers_.emplace_back([=, this] {
    auto value = make();
    QMetaObject::invokeMethod(
        this,
        [=, this] {
          if (self && request == request_) use(value);
        },
        Qt::QueuedConnection);
  });
}

void MainWindow::diagnoseFile(const QString& path) {
  inBackground(
      [path = path.toStdString()]() -> std::optional<traces::Diagnosis> {
        try {
          return traces::diagnose(*traces::openTrace(path));
        } catch (const Error&) {
          return std::nullopt;  // the window already shows what was streamed
        }
      },
      [this](const std::optional<traces::Diagnosis>& diagnosis) {
        if (diagnosis) hub_.setDiagnosis(*diagnosis);
      });
}

void MainWindow::openTrace(const QString& path) {
  struct Result {
    std::shared_ptr<traces::Trace> trace;
    QString failure;
  };
  message_ = "opening " + path;
  refreshStatus();
  inBackground(
      [path = path.toStdString()] {
        Result result;
        try {
          result.trace = traces::openTrace(path);
        } catch (const Error& error) {
          result.failure = error.what();
        }
        return result;
      },
      [this, path](const Result& result) {
        message_ = result.failure;
        if (result.trace) {
          engine_.stop();
          closeComparison();
          visited_.clear();
          trace_path_ = path;
          hub_.setTrace(result.trace, QFileInfo(path).fileName(), false);
          if (!result.trace->problems().empty())
            message_ = QString::fromStdString(result.trace->problems().front());
          hub_.setPlaying(true);
          run_panel_->setRecording(path);
          last_config_ = run_panel_->config();
          diagnoseFile(path);
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
