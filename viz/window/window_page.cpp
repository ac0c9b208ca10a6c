// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/window_page.h"

#include <QApplication>
#include <QVBoxLayout>

#include "viz/style/palette.h"
#include "viz/views/inspector/inspector_view.h"
#include "viz/window/transport_bar.h"

namespace ringscope::viz {
namespace {

constexpr const char* kLanesView = "timeline";
constexpr double kPresenterZoom = 1.6;
constexpr int kLeastPanel = 242;  // the fields of the run panel can do with less than they ask for

/// The parts of the columns at the left and at the right.
enum Part { kUsualPart, kQuizPart, kLessonPart };

void showPart(QWidget* side, int shown) {
  const QLayout* parts = side->layout();
  for (int part = 0; part < parts->count(); ++part)
    parts->itemAt(part)->widget()->setVisible(part == shown);
}

QScrollArea* makeScrolled(QWidget* widget, QWidget* parent) {
  auto* area = new QScrollArea(parent);
  area->setWidget(widget);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  return area;
}

/// Makes a column with several parts, of which the first is shown.
QWidget* makeSide(const QList<QWidget*>& parts, QWidget* parent) {
  auto* side = new QWidget(parent);
  auto* rows = new QVBoxLayout(side);
  rows->setContentsMargins(0, 0, 0, 0);
  for (QWidget* part : parts) rows->addWidget(makeScrolled(part, parent));
  showPart(side, 0);
  return side;
}

}  // namespace

WindowPage::WindowPage(const Sources& sources, QWidget* parent)
    : QWidget(parent), theme_(&Theme::all().front()) {
  setObjectName("stage");
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  top_bar_ = new TopBar(sources.runs, this);
  rows->addWidget(top_bar_);
  rows->addWidget(makeSeparator(this));
  run_panel_ = new RunPanel(sources.viewing.session, sources.engine, this);
  run_panel_->setMinimumWidth(kLeastPanel);
  auto* inspector = new Inspector(sources.viewing, this);
  quiz_.panel = new QuizPanel(this);
  quiz_.answers = new AnswerPanel(this);
  lesson_ = new LessonPanel(this);
  left_ = makeSide({run_panel_, quiz_.panel}, this);
  right_ = makeSide({inspector, quiz_.answers, lesson_}, this);
  auto* timeline = new TimelineStrip(sources.viewing, this);
  stage_ = new StageArea(sources.viewing, sources.before, sources.job, this);
  panes_ =
      new Panes({left_, stage_, right_, new TransportBar(sources.viewing, this), timeline}, this);
  rows->addWidget(panes_, 1);
  start_ = new StartPage(this);
  start_->hide();
  rows->addWidget(start_, 1);
  history_ = new HistoryPage(this);
  rows->addWidget(history_, 1);
  rows->addWidget(makeSeparator(this));
  status_ = new StatusLine(this);
  rows->addWidget(status_);
  panels_ = {inspector, timeline};
  connect(timeline, &TimelineStrip::lanesChanged, panes_, &Panes::partsChanged);
  connect(stage_, &StageArea::viewShown, this, &WindowPage::refreshPanels);
  connect(stage_, &StageArea::viewShown, this, [this] { showStart(false); });
  connect(stage_, &StageArea::stageAdded, this, [this] { setTheme(*theme_); });
}

void WindowPage::setPresenting(bool presenting) {
  presenting_ = presenting;
  top_bar_->setVisible(!presenting);
  refreshPanels();
  setTheme(*theme_);
  const auto state = window()->windowState();
  window()->setWindowState(presenting ? state | Qt::WindowFullScreen
                                      : state & ~Qt::WindowFullScreen);
}

void WindowPage::showInFront(QWidget* page) {
  if (!(page ? page : panes_)->isHidden()) return;
  for (QWidget* other : {static_cast<QWidget*>(start_), static_cast<QWidget*>(history_)})
    if (other != page) other->hide();
  panes_->setVisible(!page);
  page ? page->show() : stage_->current()->setFocus();
}

void WindowPage::showHistory(bool shown) {
  if (shown != history_->isHidden()) return;
  if (shown) shows_.start_before = !start_->isHidden();
  showInFront(shown ? history_ : shows_.start_before ? start_ : static_cast<QWidget*>(nullptr));
}

void WindowPage::toggleRunPanel() {
  shows_.run_panel = !shows_.run_panel;
  refreshPanels();
}

void WindowPage::toggleInspector() {
  shows_.inspector = !shows_.inspector;
  refreshPanels();
}

void WindowPage::showQuiz(bool shown, bool sealed) {
  quiz_.shown = shown;
  quiz_.sealed = sealed;
  if (shown) shows_.lesson = false;
  showPart(left_, shown ? kQuizPart : kUsualPart);
  showPart(right_, shown ? kQuizPart : shows_.lesson ? kLessonPart : kUsualPart);
  stage_->setSealed(sealed);
  refreshPanels();
  setTheme(*theme_);
}

void WindowPage::showLesson(bool shown) {
  shows_.lesson = shown;
  showPart(right_, shown ? kLessonPart : kUsualPart);
  refreshPanels();
}

/// Two stages need the inspector's room. The Timeline view has a panel and lanes of its own.
void WindowPage::refreshPanels() {
  const bool lanes = stage_->shown() == kLanesView;
  left_->setVisible(quiz_.shown || (shows_.run_panel && !presenting_));
  right_->setVisible(quiz_.shown || shows_.lesson ||
                     (shows_.inspector && !presenting_ && !stage_->isComparing() && !lanes));
  panes_->showTimeline(!presenting_ && !lanes);
  panes_->partsChanged();
}

void WindowPage::setTheme(const Theme& theme) {
  theme_ = &theme;
  QApplication::setPalette(makePalette(theme));  // dialogs and menus are windows of their own
  const double zoom = presenting_ ? kPresenterZoom : 1;
  window()->setStyleSheet(themeStyleSheet(theme, zoom) +
                          QString("QWidget#separator { background: %1; }").arg(theme.line.name()));
  quiz_.theme = withoutVerdicts(theme);
  for (View* view : stage_->views() + panels_) {
    view->setZoom(zoom);
    view->setTheme(quiz_.sealed ? quiz_.theme : theme);
  }
  start_->setTheme(theme);
  history_->setTheme(theme);
  stage_->jobBar()->setWarningColor(theme.wrong);
  status_->setWarning(theme.wrong);
}

void WindowPage::chooseNextTheme() {
  const auto& all = Theme::all();
  const auto at = static_cast<std::size_t>(theme_ - all.data());
  shows_.theme = &all[(at + 1) % all.size()];
  setTheme(*shows_.theme);
}

void WindowPage::save(QSettings& settings) const {
  settings.setValue("window/run_panel", shows_.run_panel);
  settings.setValue("window/inspector", shows_.inspector);
  settings.setValue("runs/most_bytes", top_bar_->runs()->limit());
  settings.setValue("run/on", run_panel_->config().run_on);
  if (shows_.theme) settings.setValue("window/theme", shows_.theme->name);
  panes_->save(settings);
}

void WindowPage::restore(const QSettings& settings) {
  shows_.run_panel = settings.value("window/run_panel", true).toBool();
  shows_.inspector = settings.value("window/inspector", true).toBool();
  run_panel_->setRunOn(settings.value("run/on").toString());
  bool is_number = false;
  const qint64 limit = settings.value("runs/most_bytes").toLongLong(&is_number);
  top_bar_->runs()->setLimit(is_number ? limit : RunsButton::kDefaultLimit);
  const QString theme = settings.value("window/theme").toString();
  for (const Theme& known : Theme::all())
    if (known.name == theme) shows_.theme = &known;
  if (shows_.theme) setTheme(*shows_.theme);
  panes_->restore(settings);
  refreshPanels();
}

}  // namespace ringscope::viz
