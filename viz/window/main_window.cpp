// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/main_window.h"

#include <QFileInfo>
#include <QKeyEvent>

#include "traces/exchange/import/format.h"
#include "viz/kit/plain_key.h"
#include "viz/link/recording_path.h"
#include "viz/scene/run_words.h"
#include "viz/scene/units.h"
#include "viz/style/motion.h"
#include "viz/window/drop_control.h"
#include "viz/window/keys.h"
#include "viz/window/notes_control.h"
#include "viz/window/old_runs.h"
#include "viz/window/shortcuts.h"

namespace ringscope::viz {

MainWindow::MainWindow(const QString& engine_program, QWidget* parent) : QMainWindow(parent) {
  setWindowTitle("RingScope");
  resize(1440, 860);
  setMinimumSize(960, 600);
  page_ = new WindowPage({viewing_, before_, engine_, job_, shown_.folder()}, this);
  setCentralWidget(page_);
  const WindowParts parts{viewing_, before_, shown_, *page_};
  beside_ = new BesideControl(parts, this);
  runs_ = new RunControl(parts, engine_, *beside_, engine_program, this);
  jobs_ = new JobControl(parts, job_, engine_, this);
  recordings_ = new RecordingControl(parts, this);
  history_ = new HistoryControl(parts, *recordings_, this);
  new DropControl(parts, *recordings_, *history_, this);
  auto* notes = new NotesControl(parts, this);
  auto* saves = new SaveControl(parts, *history_, this);
  new StartControl(parts, {*runs_, *jobs_, *recordings_, job_}, !engine_program.isEmpty(), this);
  quiz_ = new QuizControl(parts, *runs_, *recordings_, engine_, this);
  lessons_ = new LessonControl(parts, *runs_, *recordings_, !engine_program.isEmpty(), this);
  connectParts();
  frames_.setTimerType(Qt::PreciseTimer);
  frames_.start(16);
  frame_clock_.start();
  addShortcuts(*this, {viewing_, *page_, *beside_, *runs_, *jobs_, *recordings_, *history_, *notes,
                       *saves, *quiz_, *lessons_, engine_, job_});
  // Strings from recordings are never taken for markup.
  for (QLabel* label : findChildren<QLabel*>()) label->setTextFormat(Qt::PlainText);
  page_->setTheme(Theme::all().front());
  viewing_.player.setReducedMotion(desktopReducesMotion());
  refreshStatus();
  page_->stage()->current()->setFocus();
}

void MainWindow::connectParts() {
  // A source that takes the stage ends or leaves the others.
  connect(runs_, &RunControl::taking, jobs_, &JobControl::leave);
  connect(runs_, &RunControl::taking, recordings_, &RecordingControl::cancel);
  connect(recordings_, &RecordingControl::taking, &engine_, &EngineLink::stop);
  connect(recordings_, &RecordingControl::taking, jobs_, &JobControl::leave);
  connect(recordings_, &RecordingControl::taking, beside_, &BesideControl::close);
  connect(jobs_, &JobControl::taking, &engine_, &EngineLink::stop);
  connect(jobs_, &JobControl::taking, recordings_, &RecordingControl::cancel);
  connect(jobs_, &JobControl::taking, beside_, &BesideControl::close);
  connect(jobs_, &JobControl::taking, quiz_, &QuizControl::leave);
  connect(lessons_, &LessonControl::taking, quiz_, &QuizControl::leave);
  connect(jobs_, &JobControl::recorded, this, &MainWindow::removeOldRuns);
  connect(runs_, &RunControl::recorded, this, &MainWindow::removeOldRuns);
  connect(runs_, &RunControl::changed, this, &MainWindow::refreshStatus);
  connect(recordings_, &RecordingControl::opened, this, [this](const QString& failure) {
    if (failure.isEmpty()) runs_->setShownConfig(page_->runPanel()->recordedConfig());
    refreshStatus();
    Q_EMIT opened(failure);
  });
  connect(&engine_, &EngineLink::stateChanged, this, &MainWindow::refreshStatus);
  connect(&job_, &JobLink::changed, this, &MainWindow::refreshStatus);
  connect(&viewing_.session, &Session::stateChanged, this, &MainWindow::refreshStatus);
  connect(&viewing_.session, &Session::dataChanged, this, &MainWindow::refreshStatus);
  connect(&viewing_.comparison, &Comparison::changed, this, [this] {
    shown_.holdCompared({viewing_.comparison.other(), viewing_.comparison.floor()});
    refreshStatus();
  });
  StageArea* stage = page_->stage();
  StatusLine* status = page_->status();
  connect(&viewing_.navigator, &Navigator::leaving, stage, &StageArea::leave);
  connect(&viewing_.navigator, &Navigator::viewRequested, stage, &StageArea::show);
  connect(&viewing_.navigator, &Navigator::told, status, &StatusLine::tell);
  connect(&viewing_.navigator, &Navigator::taken, status, [status] { status->tell({}); });
  connect(&viewing_.player, &Player::changed, status, [this, status] {
    if (viewing_.player.playing()) status->tell({});
  });
  TopBar* bar = page_->topBar();
  connect(bar->exporter(), &ExportButton::said, status, &StatusLine::tell);
  connect(bar->exporter(), &ExportButton::failed, status, &StatusLine::setProblem);
  connect(bar->runs(), &RunsButton::said, status, &StatusLine::tell);
  connect(bar->runs(), &RunsButton::failed, status, &StatusLine::setProblem);
  connect(bar->runs(), &RunsButton::limitChosen, this, [this, bar, stage] {
    Q_EMIT settingsChanged();
    announceRemoval(shown_.folder(), bar->runs()->limit(), *stage->notice());
  });
  connect(bar, &TopBar::themeClicked, this, [this] {
    page_->chooseNextTheme();
    Q_EMIT settingsChanged();
  });
  connect(&frames_, &QTimer::timeout, this, [this] {
    const double seconds = std::min(0.1, static_cast<double>(frame_clock_.restart()) * 1e-3);
    // While a pause is awaited the picture stands still, and the cores belong to the run.
    if (engine_.state() == EngineLink::State::kPausing) return;
    viewing_.session.publish();
    beside_->keepPlace();
    viewing_.player.advance(seconds);
  });
}

void MainWindow::refreshStatus() {
  const Session& session = viewing_.session;
  const bool is_job = jobs_->isShown();
  std::optional<std::string> live;
  if (session.live()) live = (is_job ? job_.sentence() : engine_.sentence()).toStdString();
  page_->topBar()->headline()->setText(
      is_job && !session.trace().run()
          ? QString("a job sends its recording")
          : QString::fromStdString(runHeadline(session.trace(), session.live())));
  const QString& path = shown_.path();
  const bool sealed = viewing_.navigator.cursor().sealed;
  const bool shows_nothing =
      session.trace().moments().empty() && !live && (path.isEmpty() || shown_.failed());
  page_->status()->setRun(
      sealed          ? QString("quiz · one mistake is sealed in this run")
      : shows_nothing ? QString()
                      : QString::fromStdString(runStatus(
                            session.trace(), {session.worst(), session.diagnosis(), live})));
  const bool exists = isOnOtherMachine(path) || QFileInfo::exists(path);
  page_->topBar()->exporter()->setRecording(
      sealed || session.live() || session.trace().moments().empty() || !exists ? "" : path);
  page_->status()->setFile(
      exists
          ? QString("%1 · %2").arg(recordingName(path),
                                   describeBytes(static_cast<std::int64_t>(
                                                     traces::sizeOfRecording(path.toStdString())))
                                       .c_str())
          : "");
  setWindowTitle(shown_.title(session, is_job, engine_.state(), viewing_.comparison.other()));
}

void MainWindow::saveSettings(QSettings& settings) const {
  settings.setValue("window/geometry", saveGeometry());
  page_->save(settings);
}

void MainWindow::restoreSettings(const QSettings& settings) {
  restoreGeometry(settings.value("window/geometry").toByteArray());
  page_->restore(settings);
}

void MainWindow::removeOldRuns() {
  viz::removeOldRuns(shown_.folder(), page_->topBar()->runs()->limit(), *page_->stage()->notice());
  history_->reload();
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (page_->isPresenting() && plainKey(*event) == Qt::Key_Space) {
    viewing_.player.setPlaying(false);
    return viewing_.navigator.move(1);
  }
  if (!applyKey(viewing_, *event)) QMainWindow::keyPressEvent(event);
}

}  // namespace ringscope::viz
