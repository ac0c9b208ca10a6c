// SPDX-License-Identifier: GPL-3.0-or-later
// What the main window does when the engine or what is on show changes.
#include <QFileInfo>

#include "traces/exchange/import/format.h"
#include "traces/format/core/error.h"
#include "viz/scene/run_words.h"
#include "viz/scene/units.h"
#include "viz/window/main_window.h"

namespace ringscope::viz {

void MainWindow::connectEngine() {
  connect(run_panel_, &RunPanel::runRequested, this, [this] { startRun(run_panel_->config()); });
  connect(run_panel_, &RunPanel::whatIfRequested, this, &MainWindow::whatIf);
  connect(&engine_, &EngineLink::chunkArrived, this, [this](const traces::Chunk& chunk) {
    try {
      viewing_.session.addChunk(chunk);
    } catch (const Error& error) {
      message_ = error.what();
    }
  });
  connect(&engine_, &EngineLink::paused, this, [this] {
    // The picture of the stop is the newest ring step.
    viewing_.session.publish();
    viewing_.player.goToHead();
    viewing_.player.setPlaying(false);
  });
  connect(&engine_, &EngineLink::tensorRead, &viewing_.live, &LiveReads::setRead);
  connect(&engine_, &EngineLink::tensorsListed, &viewing_.live, &LiveReads::setTensors);
  connect(&engine_, &EngineLink::ended, this, &MainWindow::runEnded);
  connect(&engine_, &EngineLink::stateChanged, this, [this] {
    viewing_.live.setPossible(engine_.state() == EngineLink::State::kPaused);
    refreshStatus();
  });
}

void MainWindow::connectViewing() {
  connect(&viewing_.session, &Session::stateChanged, this, &MainWindow::refreshStatus);
  connect(&viewing_.session, &Session::dataChanged, this, &MainWindow::refreshStatus);
  connect(&viewing_.navigator, &Navigator::leaving, this,
          [this](const Place& from) { visited_.emplace_back(stage_->shown(), from); });
  connect(&viewing_.navigator, &Navigator::viewRequested, this, &MainWindow::showView);
  connect(&viewing_.navigator, &Navigator::told, this, &MainWindow::tell);
  connect(&viewing_.navigator, &Navigator::taken, this, [this] { tell({}); });
  connect(&viewing_.player, &Player::changed, this, [this] {
    if (viewing_.player.playing()) tell({});
  });
  connect(&viewing_.navigator, &Navigator::cursorChanged, this, &MainWindow::followBefore);
  connect(&background_, &Background::failed, this,
          [this](const QString&, const QString& problem) { showProblem(problem); });
  connect(&viewing_.comparison, &Comparison::changed, this, &MainWindow::holdCompared);
  connect(&viewing_.comparison, &Comparison::besideRequested, this, &MainWindow::showBeside);
  connect(&viewing_.live, &LiveReads::readRequested, &engine_, &EngineLink::read);
  connect(&viewing_.live, &LiveReads::tensorsRequested, &engine_, &EngineLink::listTensors);
  connect(timeline_, &TimelineStrip::lanesChanged, panes_, &Panes::partsChanged);
  connect(&frames_, &QTimer::timeout, this, &MainWindow::frame);
}

/// What is shown beside moves with it.
void MainWindow::followBefore() {
  const bool beside = before_stage_ && before_stage_->isVisible();
  if (!beside || before_.session.empty() || viewing_.session.empty()) return;
  Cursor cursor = viewing_.navigator.cursor();
  cursor.axis = before_.navigator.axis();
  before_.navigator.setCursor(cursor);
}

void MainWindow::tell(const QString& sentence) {
  if (told_ == sentence) return;
  told_ = sentence;
  refreshStatus();
}

void MainWindow::refreshStatus() {
  const Session& session = viewing_.session;
  std::optional<std::string> live;
  if (session.live()) live = (shows_job_ ? job_.sentence() : engine_.sentence()).toStdString();
  headline_->setText(shows_job_ && !session.trace().run()
                         ? QString("a job sends its recording")
                         : QString::fromStdString(runHeadline(session.trace(), session.live())));
  const bool shows_nothing = session.empty() && !live && (trace_path_.isEmpty() || run_failed_);
  status_->setText(shows_nothing
                       ? QString()
                       : QString::fromStdString(runStatus(
                             session.trace(), {session.worst(), session.diagnosis(), live})));
  const QFileInfo file(trace_path_);
  export_->setRecording(session.live() || session.empty() || !file.exists() ? "" : trace_path_);
  status_right_->setText(
      !told_.isEmpty()      ? told_
      : !message_.isEmpty() ? "▲ " + message_
      : file.exists()
          ? QString("%1 · %2").arg(file.fileName(),
                                   describeBytes(static_cast<std::int64_t>(traces::sizeOfRecording(
                                                     trace_path_.toStdString())))
                                       .c_str())
          : "");
  const bool wrong = told_.isEmpty() ? !message_.isEmpty() : told_.startsWith("▲");
  setWindowTitle(title());
  const QString color = wrong ? QString("color: %1").arg(theme_->wrong.name()) : "";
  if (status_right_->styleSheet() != color) status_right_->setStyleSheet(color);
}

}  // namespace ringscope::viz
