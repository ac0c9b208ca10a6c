// SPDX-License-Identifier: GPL-3.0-or-later
// Where the main window's traces come from: live runs, what-ifs and recordings.
#include <QFileDialog>
#include <QFileInfo>

#include "traces/analysis/compare/report.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "viz/session/problem.h"
#include "viz/window/main_window.h"
#include "viz/window/run_name.h"

namespace ringscope::viz {
namespace {

/// The path, or where a recording is there already, the same with a number.
QString unusedPath(const QString& path) {
  const QFileInfo asked(path);
  const QString stem = asked.path() + "/" + asked.completeBaseName();
  const QString extension = asked.suffix().isEmpty() ? QString() : "." + asked.suffix();
  QString unused = path;
  for (int number = 2; QFileInfo(unused).size() > 0; ++number)
    unused = stem + " " + QString::number(number) + extension;
  return unused;
}

}  // namespace

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
  RunConfig named = config;
  std::optional<RunHold> hold = nameRun(named);
  if (!hold) return;
  closeComparison();
  last_config_ = config;
  run_panel_->setConfig(config);
  beginRun(named, std::move(*hold));
  viewing_.player.setPlaying(true);
}

void MainWindow::setShownPath(const QString& path, RunHold hold) {
  shown_hold_ = hold.path().isEmpty() ? runs_.hold(path) : std::move(hold);
  trace_path_ = path;
  run_failed_ = false;
  unopened_.clear();
  problem_card_->hide();
  runs_button_->setRun(path);
}

/// Gives the run a file of its own, and returns the file's hold. Returns nothing, and says why,
/// when the run cannot be recorded.
std::optional<RunHold> MainWindow::nameRun(RunConfig& config) {
  if (engine_program_.isEmpty()) {
    showProblem("this installation only views recordings: the engine is not installed");
    return {};
  }
  if (config.trace.isEmpty()) {
    try {
      RunHold hold = runs_.makeRun(runName(config), QDateTime::currentDateTime());
      config.trace = hold.path();
      return hold;
    } catch (const Error& error) {
      showProblem(error.what());
      return {};
    }
  }
  const QString asked = config.trace;
  config.trace = unusedPath(asked);
  if (config.trace != asked)
    notice_->show("This run is recorded in " + config.trace,
                  asked + " holds an earlier recording, which stays as it is.");
  return RunHold();
}

void MainWindow::beginRun(const RunConfig& config, RunHold hold) {
  setShownPath(config.trace, std::move(hold));
  message_.clear();
  told_.clear();
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
  std::optional<RunHold> hold = nameRun(config);
  if (!hold) return;
  const QString change = changes(last_config_, config);
  last_config_ = config;
  const Cursor cursor = viewing_.navigator.cursor();
  const Place& place = cursor.place;
  config.steps = place.train_step + 1;
  config.capture = "values:steps=" + std::to_string(place.train_step);
  const RunHold before_hold = std::exchange(shown_hold_, {});
  before_.session.open(viewing_.session.shareTrace(), viewing_.session.name(), false);
  before_.navigator.setCursor(cursor);
  const QString before = trace_path_;
  showBeforeStage();
  beginRun(config, std::move(*hold));
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
  run_failed_ = !failure.isEmpty();
  refreshStatus();
  if (!QFileInfo::exists(trace_path_)) return;
  run_panel_->setRecording(trace_path_);
  viewing_.session.diagnose(trace_path_);
  removeOldRuns();
}

void MainWindow::openTrace(const QString& path) {
  struct Result {
    std::shared_ptr<traces::Trace> trace;
    QString failure;
  };
  message_ = "opening " + path;
  refreshStatus();
  const auto hold = std::make_shared<RunHold>(runs_.hold(path));
  background_.request(
      "open",
      [path = path.toStdString()](const std::stop_token&) {
        Result result;
        try {
          result.trace = traces::openTrace(path);
        } catch (...) {
          result.failure = describeProblem(std::current_exception());
        }
        return result;
      },
      [this, path, hold](const Result& result) {
        message_ = result.failure;
        if (!result.trace) {
          unopened_ = path;
          problem_card_->show(path, result.failure);
        } else {
          engine_.stop();
          leaveJob();
          closeComparison();
          visited_.clear();
          told_.clear();
          setShownPath(path, std::move(*hold));
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

/// No window removes what the comparison reads, and the title names it.
void MainWindow::holdCompared() {
  compared_holds_.clear();
  for (const QString& path : {viewing_.comparison.other(), viewing_.comparison.floor()})
    if (!path.isEmpty()) compared_holds_.push_back(runs_.hold(path));
  setWindowTitle(title());
}

void MainWindow::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(this, "Open a recording", runsFolder(),
                                                    "RingScope traces (*.rscope);;All files (*)");
  if (!path.isEmpty()) openTrace(path);
}

}  // namespace ringscope::viz
