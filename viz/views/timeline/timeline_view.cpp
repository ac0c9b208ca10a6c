// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_view.h"

#include <QToolTip>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/kit/plain_key.h"
#include "viz/scene/groups.h"
#include "viz/views/timeline/overview_painter.h"

namespace ringscope::viz {

TimelineView::TimelineView(Viewing& viewing, QWidget* parent)
    : View(viewing, "Timeline: a lane a rank, from the whole run to nanoseconds", parent),
      axis_(new TimelineAxis(viewing, this)),
      search_(new TimelineSearch(this)),
      gestures_(new TimelineGestures(viewing, *axis_, state_, this)),
      throttle_(this, viewing.session, [this] { guard([this] { makeChart(); }); }) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  reading_.setInterval(200);
  connect(&reading_, &QTimer::timeout, this, [this] { update(); });
  connect(gestures_, &TimelineGestures::moved, this, &TimelineView::afterMove);
  connect(gestures_, &TimelineGestures::changed, this, [this] { update(); });
  connect(search_, &TimelineSearch::left, this, [this] { setFocus(); });
  connect(search_, &TimelineSearch::entered, this, [this](bool back) {
    gestures_->setPage(parts(), chart());
    search_->setAnswer(gestures_->find(search_->text(), back));
  });
  connect(axis_, &TimelineAxis::chosen, this, [this] {
    if (state_.scene.model == ownDevices()) return;
    state_.startOver();
    arrange();
    makeChart();
  });
  connect(axis_, &TimelineAxis::remade, this, [this](bool other_model) {
    if (other_model) {  // the selected bar lies elsewhere in the new model
      const auto now = clock();
      ChartScene& scene = state_.scene;
      scene.hovered = {};
      scene.selected =
          account_.clock() && now ? sameSpan(*account_.clock(), *now, scene.selected) : SpanPlace();
      state_.selected.reset();
      if (scene.selected.exists()) state_.selected = spanDetails(*now, scene.selected);
    }
    makeChart();
  });
}

TimelinePage TimelineView::parts() const {
  const bool own = ownDevices();
  return timelinePage(page(), legendHeight, text(account().sentence),
                      ClockBox::neededHeight(own, false),
                      own ? ClockBox::neededHeight(own, ClockBox::isWide(page().width())) : 0);
}

Cursor TimelineView::watched(Cursor cursor) const {
  Cursor seen;
  seen.group = cursor.group;
  seen.rank = cursor.rank;
  seen.place.train_step = cursor.place.train_step;
  return seen;
}

void TimelineView::makeChart() {
  const Session& session = viewing_.session;
  const bool other = recording_ != session.recording(),
             read_again = generation_ != session.generation();
  recording_ = session.recording();
  generation_ = session.generation();
  state_.why_empty = session.live() ? "The first events of the run are awaited."
                                    : "No events are recorded: nothing says what happened when.";
  ChartScene& scene = state_.scene;
  scene.ranks = groupRanks(session.trace(), cursor().group);
  axis_->findTracks(state_);
  scene.selected_rank = cursor().rank;
  const std::int32_t train_step = cursor().place.train_step;
  const StepTrack* step = scene.tracks ? scene.tracks->step(train_step) : nullptr;
  scene.origin_ns = step ? static_cast<double>(step->begin_ns) : 0;
  if (read_again) {
    state_.selected.reset();
    scene.selected = scene.hovered = {};
  }
  if (other) {
    state_.startOver();
    state_.scroll_ranks = 0;
  }
  if (state_.fits_step) state_.chart.show(state_.stepWindow(train_step), state_.all());
  if (account_.update(watched(cursor()), session.version(), *axis_, scene))
    describe(account().sentence);
  session.tracksRead() < 1 ? reading_.start() : reading_.stop();
  canvas_.forgetOverview();
  afterMove();
  update();
  moved();
}

/// The viewed instant stays in sight while it moves on by itself.
void TimelineView::moved() {
  if (state_.scene.empty()) return;
  const double before = state_.scene.instant_ns;
  const double now = axis_->onAxis(viewing_.navigator.instant(), state_.scene);
  state_.scene.instant_ns = now;
  const TimeWindow& window = state_.chart.window();
  const auto inside = [&](double ns) { return ns >= window.begin_ns && ns <= window.end_ns; };
  if (inside(before) && !inside(now) && !gestures_->isDragging())
    state_.chart.reveal(now, state_.all());
  afterMove();
}

void TimelineView::afterMove() {
  state_.follow();
  const TimelinePage at = parts();
  const auto scaled = [&](const QRectF& part) {
    return QRectF(part.topLeft() * zoom_, part.size() * zoom_).toAlignedRect();
  };
  update(QRegion(scaled(at.chart)) + scaled(at.overview));
}

void TimelineView::arrange() {
  canvas_.forgetOverview();
  search_->place(parts().bar, zoom_);
  axis_->place(parts(), zoom_);
}

std::vector<TimelineChip> TimelineView::chips() const {
  if (ownDevices()) {
    std::vector<TimelineChip> chips = {{"◆ model, not a measurement", "◆ model", true}};
    if (axis_->isReplaying()) chips.push_back({"replaying …", {}, false});
    return chips;
  }
  std::vector<TimelineChip> chips;
  const double read = viewing_.session.tracksRead();
  if (read < 1)
    chips.push_back({QString("reading events: %1 %").arg(std::lround(read * 100)), {}, false});
  if (account().shared_cores)
    chips.push_back({"◆ virtual ranks: waits are the scheduler’s", "◆ virtual ranks", true});
  return chips;
}

void TimelineView::paint(QPainter& painter, const QRectF& page, const QRegion& dirty) {
  canvas_.paint(painter, page, dirty,
                {parts(), chart(), chips(), axis_->right() / zoom_ + 12, search_->x() / zoom_ - 8,
                 devicePixelRatioF() * zoom_},
                account(), state_, *theme_);
}

bool TimelineView::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && state_.chart.hasMarksOrRange() &&
      static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
    event->accept();  // the window has a shortcut for Esc
    return true;
  }
  if (event->type() == QEvent::ToolTip) {
    showTip(*static_cast<QHelpEvent*>(event));
    return true;
  }
  return handleMouse(event) || View::event(event);
}

bool TimelineView::handleMouse(QEvent* event) {
  // Qt also sends events, of children, before the constructor has made the gestures.
  if (!event->isSinglePointEvent() && event->type() != QEvent::Leave) return false;
  gestures_->setPage(parts(), chart());
  if (event->type() == QEvent::Leave) {
    gestures_->leave();
    return true;
  }
  const QPointF point = onPage(static_cast<QSinglePointEvent*>(event)->position());
  switch (event->type()) {
    case QEvent::Wheel:
      gestures_->wheel(point, *static_cast<QWheelEvent*>(event));
      return true;
    case QEvent::MouseButtonPress:
      return gestures_->press(point, *static_cast<QMouseEvent*>(event));
    case QEvent::MouseMove:
      gestures_->move(point);
      return true;
    case QEvent::MouseButtonRelease:
      return gestures_->release(*static_cast<QMouseEvent*>(event));
    case QEvent::MouseButtonDblClick:
      gestures_->doubleClick();
      return true;
    default:
      return false;
  }
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const int key = plainKey(*event);
  if (key == Qt::Key_O) return axis_->choose(!ownDevices());
  if (key == Qt::Key_C) return axis_->togglePath();
  gestures_->setPage(parts(), chart());
  if (!gestures_->key(key)) View::keyPressEvent(event);
}

bool TimelineView::focusSearch() {
  if (state_.scene.empty()) return false;
  search_->setFocus(Qt::ShortcutFocusReason);
  search_->selectAll();
  return true;
}

void TimelineView::showTip(const QHelpEvent& event) {
  const SpanPlace under = chartHit(onPage(event.pos()), chart(), state_.scene);
  QString words;
  if (under.exists())
    words = QString::fromStdString(detailWords(axis_->detailsAt(under, state_.scene)));
  QToolTip::showText(event.globalPos(), words.toHtmlEscaped().replace("\n", "<br>"), this);
}

View* makeTimelineView(Viewing& viewing, QWidget* parent) {
  return new TimelineView(viewing, parent);
}

}  // namespace ringscope::viz
