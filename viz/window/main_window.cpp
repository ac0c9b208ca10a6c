// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/main_window.h"

#include <QApplication>
#include <QDragEnterEvent>
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollArea>
#include <QShortcut>
#include <QVBoxLayout>

#include "traces/exchange/import/open_trace.h"
#include "viz/style/motion.h"
#include "viz/window/key_help.h"
#include "viz/window/keys.h"

namespace ringscope::viz {
namespace {

constexpr const char* kBothRunsView = "compare";

QWidget* separator(QWidget* parent) {
  auto* line = new QWidget(parent);
  line->setObjectName("separator");
  line->setFixedHeight(1);
  return line;
}

}  // namespace

MainWindow::MainWindow(const QString& engine_program, QWidget* parent)
    : QMainWindow(parent), engine_program_(engine_program), theme_(&Theme::all().front()) {
  setWindowTitle("RingScope");
  setAcceptDrops(true);
  resize(1440, 860);
  setMinimumSize(960, 600);
  auto* page = new QWidget(this);
  page->setObjectName("stage");
  auto* rows = new QVBoxLayout(page);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  top_bar_ = makeTopBar();
  rows->addWidget(top_bar_);
  rows->addWidget(separator(page));
  run_panel_ = new RunPanel(viewing_.session, engine_, page);
  run_panel_->setMinimumWidth(242);  // its fields can do with less than they ask for
  auto* inspector = new Inspector(viewing_, page);
  left_ = scrolled(run_panel_);
  left_->setFocusPolicy(Qt::NoFocus);
  right_ = scrolled(inspector);
  right_->setFocusPolicy(Qt::NoFocus);
  timeline_ = new TimelineStrip(viewing_, page);
  panes_ =
      new Panes({left_, makeStage(), right_, new TransportBar(viewing_, page), timeline_}, page);
  rows->addWidget(panes_, 1);
  rows->addWidget(separator(page));
  rows->addLayout(makeStatusLine(page));
  setCentralWidget(page);
  views_ << stage_->views() << inspector << timeline_;
  connectEngine();
  connectViewing();
  connectJob();
  frames_.setTimerType(Qt::PreciseTimer);
  frames_.start(16);
  frame_clock_.start();
  makeShortcuts();
  // What a recording says is never taken for markup.
  for (QLabel* label : findChildren<QLabel*>()) label->setTextFormat(Qt::PlainText);
  setTheme(Theme::all().front());
  viewing_.player.setReducedMotion(desktopReducesMotion());
  refreshStatus();
  stage_->currentWidget()->setFocus();
}

QScrollArea* MainWindow::scrolled(QWidget* widget) {
  auto* area = new QScrollArea(this);
  area->setWidget(widget);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  return area;
}

QLayout* MainWindow::makeStatusLine(QWidget* page) {
  auto* row = new QHBoxLayout;
  row->setContentsMargins(20, 4, 20, 4);
  status_ = new ElidedLabel(page);
  status_right_ = new ElidedLabel(page);
  status_->setObjectName("dim");
  status_right_->setObjectName("dim");
  row->addWidget(status_, 1);
  row->addWidget(status_right_);
  return row;
}

QWidget* MainWindow::makeTopBar() {
  auto* bar = new QWidget(this);
  bar->setObjectName("panel");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(44);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(20, 0, 20, 0);
  row->setSpacing(16);
  auto* name = new QLabel("RingScope", bar);
  name->setObjectName("title");
  headline_ = new ElidedLabel(bar);
  headline_->setObjectName("dim");
  row->addWidget(name);
  row->addWidget(headline_, 1);
  auto* open = new QToolButton(bar);
  open->setText("Open …");
  open->setMinimumWidth(72);
  open->setToolTip("Open a recording (Ctrl+O), or drop one on the window");
  connect(open, &QToolButton::clicked, this, &MainWindow::chooseFile);
  export_ = new ExportButton(bar);
  connect(export_, &ExportButton::said, this, &MainWindow::tell);
  connect(export_, &ExportButton::failed, this, &MainWindow::showProblem);
  auto* theme = new QToolButton(bar);
  theme->setText("Theme");
  theme->setMinimumWidth(64);
  theme->setToolTip("Dark, light, high contrast (Ctrl+T)");
  connect(theme, &QToolButton::clicked, this, &MainWindow::chooseNextTheme);
  runs_button_ = new RunsButton(runs_, bar);
  connect(runs_button_, &RunsButton::said, this, &MainWindow::tell);
  connect(runs_button_, &RunsButton::failed, this, &MainWindow::showProblem);
  connect(runs_button_, &RunsButton::limitChosen, this, &MainWindow::announceRemoval);
  for (QToolButton* button :
       {open, static_cast<QToolButton*>(runs_button_), static_cast<QToolButton*>(export_), theme})
    row->addWidget(button);
  return bar;
}

QWidget* MainWindow::makeTabs() {
  auto* box = new QWidget(this);
  auto* bar = new QHBoxLayout(box);
  bar->setContentsMargins(8, 4, 8, 0);
  bar->setSpacing(0);
  for (const ViewEntry& entry : viewRegistry()) {
    auto* tab = new QToolButton(box);
    tab->setObjectName("tab");
    tab->setText(entry.title);
    tab->setCheckable(true);
    connect(tab, &QToolButton::clicked, this, [this, name = entry.name] { showView(name); });
    tabs_ << tab;
    bar->addWidget(tab);
  }
  tabs_.first()->setChecked(true);
  bar->addStretch(1);
  return box;
}

QWidget* MainWindow::makeStage() {
  auto* box = new QWidget(this);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(makeTabs());
  column->addWidget(separator(box));
  job_bar_ = new JobBar(job_, box);
  column->addWidget(job_bar_);
  notice_ = new NoticeBar(box);
  column->addWidget(notice_);
  compare_ = new CompareBar(before_, viewing_, box);
  compare_->hide();
  connect(compare_, &CompareBar::closed, this, &MainWindow::closeComparison);
  column->addWidget(compare_);
  stages_ = new QHBoxLayout;
  stages_->setSpacing(1);
  stage_ = new Stage(viewing_, box);
  stages_->addWidget(stage_, 1);
  column->addLayout(stages_, 1);
  problem_card_ = new ProblemCard(box);
  connect(problem_card_, &ProblemCard::openRequested, this, &MainWindow::chooseFile);
  return box;
}

/// Most sessions never compare: the second set of views is made when it is first asked for.
void MainWindow::showBeforeStage() {
  if (!before_stage_) {
    before_stage_ = new Stage(before_, stage_->parentWidget());
    stages_->insertWidget(0, before_stage_, 1);
    views_ << before_stage_->views();
    setTheme(*theme_);
  }
  compare_->setVisible(true);
  showView(stage_->shown());
}

void MainWindow::showView(const QString& name) {
  stage_->show(name);
  if (before_stage_) before_stage_->show(name);
  // The Compare view has both runs in it.
  if (before_stage_) before_stage_->setVisible(compare_->isVisible() && name != kBothRunsView);
  compare_->setOverCards(name == kBothRunsView);
  followBefore();
  for (int t = 0; t < tabs_.size(); ++t) tabs_[t]->setChecked(t == stage_->currentIndex());
  refreshPanels();
  stage_->currentWidget()->setFocus();
}

void MainWindow::makeShortcuts() {
  auto on = [this](const QKeySequence& keys, auto action) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, action);
  };
  on(QKeySequence::Open, [this] { chooseFile(); });
  on(QKeySequence("Ctrl+E"), [this] { export_->press(); });
  on(QKeySequence("Ctrl+T"), [this] { chooseNextTheme(); });
  on(QKeySequence("F1"), [this] { showKeyHelp(this); });
  on(QKeySequence("F3"), [this] {
    shows_run_panel_ = !shows_run_panel_;
    refreshPanels();
  });
  on(QKeySequence("F4"), [this] {
    shows_inspector_ = !shows_inspector_;
    refreshPanels();
  });
  on(QKeySequence("F5"), [this] { startRun(run_panel_->config()); });
  on(QKeySequence("F6"), [this] { whatIf(); });
  on(QKeySequence("F8"), [this] { pauseOrGo(); });
  on(QKeySequence("F10"), [this] { stepOn(); });
  on(QKeySequence("F11"), [this] { setPresenting(!presenting_); });
  on(QKeySequence("Alt+Left"), [this] { goBack(); });
  on(QKeySequence("Esc"), [this] {
    if (problem_card_->isVisible()) return problem_card_->hide();
    presenting_ ? setPresenting(false) : closeComparison();
  });
  on(QKeySequence::Quit, [this] { close(); });
  const auto& entries = viewRegistry();
  for (std::size_t i = 0; i < entries.size() && i < 9; ++i)
    on(QKeySequence(QString("Ctrl+%1").arg(i + 1)),
       [this, name = entries[i].name] { showView(name); });
}

void MainWindow::keyPressEvent(QKeyEvent* event) {
  if (presenting_ && event->key() == Qt::Key_Space) {
    viewing_.player.setPlaying(false);
    return viewing_.navigator.move(1);
  }
  if (!applyKey(viewing_, *event)) QMainWindow::keyPressEvent(event);
}

void MainWindow::goBack() {
  if (visited_.empty()) return;
  const auto [view, place] = visited_.back();
  visited_.pop_back();
  viewing_.navigator.setPlace(place);
  showView(view);
}

/// The animation clock. Data that has come in since the last frame is shown with it.
void MainWindow::frame() {
  const double seconds = std::min(0.1, static_cast<double>(frame_clock_.restart()) * 1e-3);
  // While a pause is awaited the picture stands still, and the cores belong to the run.
  if (engine_.state() == EngineLink::State::kPausing) return;
  viewing_.session.publish();
  keepPlace();
  viewing_.player.advance(seconds);
}

/// Once a what-if has come as far as the run before it stood, its cursor stands there too.
void MainWindow::keepPlace() {
  if (!kept_place_) return;
  const auto& moments = viewing_.session.trace().moments();
  if (moments.empty() || traces::before(moments.back(), *kept_place_)) return;
  Cursor cursor = viewing_.navigator.cursor();
  cursor.place = *kept_place_;
  cursor.phase = before_.navigator.phase();
  viewing_.navigator.setCursor(cursor);
  kept_place_.reset();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  if (!event->mimeData()->urls().isEmpty())
    openTrace(event->mimeData()->urls().first().toLocalFile());
}

}  // namespace ringscope::viz
