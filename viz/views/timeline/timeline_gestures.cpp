// SPDX-License-Identifier: GPL-3.0-or-later
// What mouse and keys do to the Timeline view.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "viz/views/timeline/overview_painter.h"
#include "viz/views/timeline/timeline_view.h"

namespace ringscope::viz {
namespace {

/// The window asks whether Esc, which it has a use for, means something here.
bool isEscape(const QEvent* event) {
  return event->type() == QEvent::ShortcutOverride &&
         static_cast<const QKeyEvent*>(event)->key() == Qt::Key_Escape;
}

constexpr double kZoomStep = 1.25, kPanStep = 0.15;
constexpr double kClick = 4;  // pixels within which a press is a click

}  // namespace

double TimelineView::pointerNs() const {
  const ChartLayout at = chart();
  const bool on_lanes =
      pointer_inside_ && pointer_.x() >= at.lanes.left() && pointer_.x() <= at.lanes.right();
  return on_lanes ? at.scale(state_.window()).ns(pointer_.x())
                  : (state_.window().begin_ns + state_.window().end_ns) / 2;
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPointF point = onPage(event->position());
  const TimelinePage at = parts();
  const double steps = event->angleDelta().y() / 120.0;
  if (at.panel.contains(point)) {
    scroll_panel_ = std::clamp(scroll_panel_ - steps * 60, 0.0,
                               std::max(0.0, panel_height_ - at.panel.height()));
    return update();
  }
  if (scene_.empty()) return;
  fits_step_ = false;
  const double aside = event->angleDelta().x() / 120.0;
  if (aside != 0) state_.pan(-aside * kPanStep, all());
  if (event->modifiers() & Qt::ShiftModifier) {
    state_.pan(-steps * kPanStep, all());
  } else if (event->modifiers() & Qt::ControlModifier) {
    scroll_ranks_ = std::clamp(scroll_ranks_ - steps * 60, 0.0, mostScroll(at.chart, scene_));
  } else if (steps != 0) {
    const bool overview = at.overview.contains(point);
    const WindowScale scale =
        overview ? overviewScale(at.overview, scene_) : chart().scale(state_.window());
    state_.zoom(std::pow(kZoomStep, -steps), scale.ns(point.x()), all());
  }
  pointer_ = point;
  afterMove();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || scene_.empty()) return View::mousePressEvent(event);
  const TimelinePage at = parts();
  pressed_at_ = pointer_ = onPage(event->position());
  pressed_window_ = state_.window();
  pressed_scroll_ = scroll_ranks_;
  dragged_ = false;
  drag_ = at.overview.contains(pressed_at_)        ? Drag::kOverview
          : !at.chart.contains(pressed_at_)        ? Drag::kNone
          : event->modifiers() & Qt::ShiftModifier ? Drag::kRange
                                                   : Drag::kLanes;
  if (drag_ == Drag::kRange) state_.beginRange(chart().scale(state_.window()).ns(pressed_at_.x()));
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = onPage(event->position());
  pointer_inside_ = true;
  dragged_ |= (pointer_ - pressed_at_).manhattanLength() > kClick;
  const ChartLayout at = chart();
  if (drag_ == Drag::kLanes && dragged_) {
    fits_step_ = false;
    state_.show(pressed_window_, all());
    state_.pan((pressed_at_.x() - pointer_.x()) / at.lanes.width(), all());
    scroll_ranks_ = std::clamp(pressed_scroll_ + pressed_at_.y() - pointer_.y(), 0.0,
                               mostScroll(at.area, scene_));
  } else if (drag_ == Drag::kRange || (drag_ == Drag::kNone && state_.measuring())) {
    state_.stretchRange(at.scale(state_.window()).ns(pointer_.x()));
  } else if (drag_ == Drag::kOverview && dragged_) {
    const WindowScale overview = overviewScale(parts().overview, scene_);
    const double by = (pointer_.x() - pressed_at_.x()) * overview.perPixel();
    return setWindow({pressed_window_.begin_ns + by, pressed_window_.end_ns + by});
  } else {
    return hover(pointer_);
  }
  afterMove();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return View::mouseReleaseEvent(event);
  const Drag drag = std::exchange(drag_, Drag::kNone);
  if (drag == Drag::kRange) {
    state_.endRange();
    return afterMove();
  }
  if (dragged_ || scene_.empty()) return;
  if (drag == Drag::kOverview) {
    const double ns = overviewScale(parts().overview, scene_).ns(pressed_at_.x());
    const StepTrack* step = scene_.tracks->stepAt(ns);
    if (!step) return;
    fits_step_ = true;
    goTo(static_cast<double>(step->begin_ns), cursor().rank);
    return fit();
  }
  if (drag == Drag::kLanes) select(chartHit(pressed_at_, chart(), scene_));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent*) {
  const SpanPlace hit = chartHit(pressed_at_, chart(), scene_);
  if (!hit.exists()) return;
  const TimeWindow bar{static_cast<double>(hit.span.begin_ns),
                       static_cast<double>(hit.span.end_ns)};
  const double room = std::max(bar.length(), TimeWindow::kLeast) / 4;
  setWindow({bar.begin_ns - room, bar.end_ns + room});
}

void TimelineView::hover(const QPointF& point) {
  SpanPlace under = chartHit(point, chart(), scene_);
  if (under == scene_.hovered) return;
  scene_.hovered = under;
  afterMove();
}

void TimelineView::leaveEvent(QEvent*) {
  pointer_inside_ = false;
  scene_.hovered = {};
  afterMove();
}

/// What was clicked is told in the panel, and the moment goes there.
void TimelineView::select(const SpanPlace& place) {
  scene_.selected = place;
  selected_.reset();
  if (!place.exists()) {
    const ChartLayout at = chart();
    if (at.lanes.contains(pressed_at_))
      goTo(at.scale(state_.window()).ns(pressed_at_.x()), cursor().rank);
    return update();
  }
  const auto event = eventAt(place);
  if (event) selected_ = detailsAt(place);
  const ChartLayout at = chart();
  const double pressed = at.scale(state_.window()).ns(pressed_at_.x());
  const double inside = std::clamp(pressed, static_cast<double>(place.span.begin_ns),
                                   static_cast<double>(place.span.end_ns));
  if (event && event->place.stage.exists()) {
    Cursor to = cursor();
    to.rank = place.rank;
    to.place = event->place;
    const StageWindow window = stageWindow(viewing_.session.trace(), to.place, to.rank);
    to.phase = window.fraction(offAxis(inside, place.rank));
    viewing_.navigator.goTo(to);
  } else {
    goTo(inside, place.rank);
  }
  update();
}

void TimelineView::goTo(double axis_ns, WorldRank rank) {
  viewing_.navigator.selectRank(rank);
  viewing_.navigator.goToInstant(offAxis(axis_ns, rank));
}

/// The training step; the whole run where that is on show already.
void TimelineView::fit() {
  const TimeWindow step = stepWindow();
  const bool shown = fits_step_ && state_.window() == step.within(all());
  setWindow(shown ? all().withMargin() : step);
  fits_step_ = !shown;
}

bool TimelineView::zoomKey(int key) {
  switch (key) {
    case Qt::Key_W:
      state_.zoom(1 / kZoomStep, pointerNs(), all());
      break;
    case Qt::Key_S:
      state_.zoom(kZoomStep, pointerNs(), all());
      break;
    case Qt::Key_A:
      state_.pan(-kPanStep, all());
      break;
    case Qt::Key_D:
      state_.pan(kPanStep, all());
      break;
    default:
      return false;
  }
  fits_step_ = false;
  return true;
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const bool plain = (event->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
  if (!plain && event->key() != Qt::Key_Slash) return View::keyPressEvent(event);
  if (event->key() == Qt::Key_O) return setOwnDevices(!ownDevices());
  if (event->key() == Qt::Key_C) return box_->path()->toggle();
  if (scene_.empty()) return View::keyPressEvent(event);
  constexpr double kNear = 4;  // pixels
  if (zoomKey(event->key())) return afterMove();
  switch (event->key()) {
    case Qt::Key_F:
      return fit();
    case Qt::Key_M:
      state_.mark(pointerNs(), kNear * chart().scale(state_.window()).perPixel());
      return afterMove();
    case Qt::Key_R:
      state_.measure(pointerNs());
      return afterMove();
    case Qt::Key_Slash:
      search_->setFocus();
      return search_->selectAll();
    case Qt::Key_Escape:
      if (state_.forget()) return afterMove();
      break;
    default:
      break;
  }
  View::keyPressEvent(event);
}

bool TimelineView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == search_ && isEscape(event)) {
    event->accept();
    return true;
  }
  if (watched != search_ || event->type() != QEvent::KeyPress)
    return View::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->key() == Qt::Key_Escape) {
    setFocus();
    return true;
  }
  if (key->key() != Qt::Key_Return && key->key() != Qt::Key_Enter) return false;
  search(key->modifiers() & Qt::ShiftModifier);
  return true;
}

void TimelineView::search(bool back) {
  if (scene_.empty()) return;
  const TrackQuery query = parseTrackQuery(search_->text().toStdString());
  if (!query.problem.empty()) return found_->setText(QString::fromStdString(query.problem));
  const double from = scene_.selected.exists() ? static_cast<double>(scene_.selected.span.begin_ns)
                                               : state_.window().begin_ns;
  auto match = spanLike(query, from, back);
  const bool round = !match;
  if (round)  // round again at the end
    match = spanLike(query, back ? all().end_ns + 1 : all().begin_ns - 1, back);
  if (!match) return found_->setText("nothing found");
  found_->setText(round ? "found, round again" : "found");
  pressed_at_ = {-1, -1};
  const auto begin = static_cast<double>(match->span.begin_ns);
  const auto end = static_cast<double>(match->span.end_ns);
  const double wide = std::max(end - begin, TimeWindow::kLeast) * 8;
  fits_step_ = false;
  if (begin < state_.window().begin_ns || end > state_.window().end_ns ||
      (end - begin) * 400 < state_.window().length())
    state_.show({(begin + end - wide) / 2, (begin + end + wide) / 2}, all());
  select(*match);
  afterMove();
}

bool TimelineView::event(QEvent* event) {
  if (isEscape(event) && state_.hasMarksOrRange()) {
    event->accept();
    return true;
  }
  if (event->type() != QEvent::ToolTip) return View::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const SpanPlace under = chartHit(onPage(help->pos()), chart(), scene_);
  QString words;
  if (under.exists()) words = QString::fromStdString(detailWords(detailsAt(under)));
  QToolTip::showText(help->globalPos(), words.toHtmlEscaped().replace("\n", "<br>"), this);
  return true;
}

}  // namespace ringscope::viz
