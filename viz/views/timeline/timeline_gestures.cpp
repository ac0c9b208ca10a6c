// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_gestures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viz/scene/stage_window.h"
#include "viz/views/timeline/overview_painter.h"

namespace ringscope::viz {
namespace {

constexpr double kZoomStep = 1.25, kPanStep = 0.15;
constexpr double kClick = 4;  // pixels within which a press is a click

}  // namespace

void TimelineGestures::setPage(const TimelinePage& page, const ChartLayout& chart) {
  page_ = page;
  chart_ = chart;
}

double TimelineGestures::pointerNs() const {
  const bool on_lanes = pointer_inside_ && pointer_.x() >= chart_.lanes.left() &&
                        pointer_.x() <= chart_.lanes.right();
  const TimeWindow& window = state_.chart.window();
  return on_lanes ? scale().ns(pointer_.x()) : (window.begin_ns + window.end_ns) / 2;
}

void TimelineGestures::wheel(const QPointF& point, const QWheelEvent& event) {
  const double steps = event.angleDelta().y() / 120.0;
  if (page_.panel.contains(point)) {
    state_.scroll_panel = std::clamp(state_.scroll_panel - steps * 60, 0.0,
                                     std::max(0.0, state_.panel_height - page_.panel.height()));
    return Q_EMIT changed();
  }
  if (state_.scene.empty()) return;
  state_.fits_step = false;
  const double aside = event.angleDelta().x() / 120.0;
  if (aside != 0) state_.chart.pan(-aside * kPanStep, state_.all());
  if (event.modifiers() & Qt::ShiftModifier) {
    state_.chart.pan(-steps * kPanStep, state_.all());
  } else if (event.modifiers() & Qt::ControlModifier) {
    state_.scroll_ranks =
        std::clamp(state_.scroll_ranks - steps * 60, 0.0, mostScroll(page_.chart, state_.scene));
  } else if (steps != 0) {
    const bool overview = page_.overview.contains(point);
    const WindowScale over = overview ? overviewScale(page_.overview, state_.scene) : scale();
    state_.chart.zoom(std::pow(kZoomStep, -steps), over.ns(point.x()), state_.all());
  }
  pointer_ = point;
  Q_EMIT moved();
}

bool TimelineGestures::press(const QPointF& point, const QMouseEvent& event) {
  if (event.button() != Qt::LeftButton || state_.scene.empty()) return false;
  pressed_at_ = pointer_ = point;
  pressed_window_ = state_.chart.window();
  pressed_scroll_ = state_.scroll_ranks;
  dragged_ = false;
  drag_ = page_.overview.contains(pressed_at_)    ? Drag::kOverview
          : !page_.chart.contains(pressed_at_)    ? Drag::kNone
          : event.modifiers() & Qt::ShiftModifier ? Drag::kRange
                                                  : Drag::kLanes;
  if (drag_ == Drag::kRange) state_.chart.beginRange(scale().ns(pressed_at_.x()));
  return true;
}

void TimelineGestures::move(const QPointF& point) {
  pointer_ = point;
  pointer_inside_ = true;
  dragged_ |= (pointer_ - pressed_at_).manhattanLength() > kClick;
  if (drag_ == Drag::kLanes && dragged_) {
    state_.show(pressed_window_);
    state_.chart.pan((pressed_at_.x() - pointer_.x()) / chart_.lanes.width(), state_.all());
    state_.scroll_ranks = std::clamp(pressed_scroll_ + pressed_at_.y() - pointer_.y(), 0.0,
                                     mostScroll(chart_.area, state_.scene));
  } else if (drag_ == Drag::kRange || (drag_ == Drag::kNone && state_.chart.measuring())) {
    state_.chart.stretchRange(scale().ns(pointer_.x()));
  } else if (drag_ == Drag::kOverview && dragged_) {
    const WindowScale overview = overviewScale(page_.overview, state_.scene);
    const double by = (pointer_.x() - pressed_at_.x()) * overview.perPixel();
    state_.show({pressed_window_.begin_ns + by, pressed_window_.end_ns + by});
  } else {
    const SpanPlace under = chartHit(pointer_, chart_, state_.scene);
    if (under == state_.scene.hovered) return;
    state_.scene.hovered = under;
  }
  Q_EMIT moved();
}

bool TimelineGestures::release(const QMouseEvent& event) {
  if (event.button() != Qt::LeftButton) return false;
  const Drag drag = std::exchange(drag_, Drag::kNone);
  if (drag == Drag::kRange) {
    state_.chart.endRange();
    Q_EMIT moved();
  } else if (dragged_ || state_.scene.empty()) {
    return true;
  } else if (drag == Drag::kOverview) {
    const double ns = overviewScale(page_.overview, state_.scene).ns(pressed_at_.x());
    const StepTrack* step = state_.scene.tracks->stepAt(ns);
    if (!step) return true;
    state_.fits_step = true;
    goTo(static_cast<double>(step->begin_ns), viewing_.navigator.cursor().rank);
    fit();
  } else if (drag == Drag::kLanes) {
    select(chartHit(pressed_at_, chart_, state_.scene));
  }
  return true;
}

void TimelineGestures::doubleClick() {
  const SpanPlace hit = chartHit(pressed_at_, chart_, state_.scene);
  if (!hit.exists()) return;
  const TimeWindow bar{static_cast<double>(hit.span.begin_ns),
                       static_cast<double>(hit.span.end_ns)};
  const double room = std::max(bar.length(), TimeWindow::kLeast) / 4;
  state_.show({bar.begin_ns - room, bar.end_ns + room});
  Q_EMIT moved();
}

void TimelineGestures::leave() {
  pointer_inside_ = false;
  state_.scene.hovered = {};
  Q_EMIT moved();
}

/// The panel tells about the bar that was clicked, and the viewed moment goes there.
void TimelineGestures::select(const SpanPlace& place) {
  ChartScene& scene = state_.scene;
  scene.selected = place;
  state_.selected.reset();
  const double pressed = scale().ns(pressed_at_.x());
  if (!place.exists()) {
    if (chart_.lanes.contains(pressed_at_)) goTo(pressed, viewing_.navigator.cursor().rank);
    return Q_EMIT changed();
  }
  const auto event = axis_.eventAt(place, scene);
  if (event) state_.selected = axis_.detailsAt(place, scene);
  const double inside = std::clamp(pressed, static_cast<double>(place.span.begin_ns),
                                   static_cast<double>(place.span.end_ns));
  if (event && event->place.stage.exists()) {
    Cursor to = viewing_.navigator.cursor();
    to.rank = place.rank;
    to.place = event->place;
    const StageWindow window = stageWindow(viewing_.session.trace(), to.place, to.rank);
    to.phase = window.fraction(axis_.offAxis(inside, place.rank, scene));
    viewing_.navigator.goTo(to);
  } else {
    goTo(inside, place.rank);
  }
  Q_EMIT changed();
}

void TimelineGestures::goTo(double axis_ns, WorldRank rank) {
  viewing_.navigator.selectRank(rank);
  viewing_.navigator.goToInstant(axis_.offAxis(axis_ns, rank, state_.scene));
}

void TimelineGestures::fit() {
  state_.fit(viewing_.navigator.cursor().place.train_step);
  Q_EMIT moved();
}

bool TimelineGestures::zoomKey(int key) {
  switch (key) {
    case Qt::Key_W:
      state_.chart.zoom(1 / kZoomStep, pointerNs(), state_.all());
      break;
    case Qt::Key_S:
      state_.chart.zoom(kZoomStep, pointerNs(), state_.all());
      break;
    case Qt::Key_A:
      state_.chart.pan(-kPanStep, state_.all());
      break;
    case Qt::Key_D:
      state_.chart.pan(kPanStep, state_.all());
      break;
    default:
      return false;
  }
  state_.fits_step = false;
  return true;
}

bool TimelineGestures::key(int key) {
  constexpr double kNear = 4;  // pixels
  if (state_.scene.empty()) return false;
  if (key == Qt::Key_F) {
    fit();
    return true;
  }
  if (key == Qt::Key_M)
    state_.chart.mark(pointerNs(), kNear * scale().perPixel());
  else if (key == Qt::Key_R)
    state_.chart.measure(pointerNs());
  else if (!zoomKey(key) && !(key == Qt::Key_Escape && state_.chart.forget()))
    return false;
  Q_EMIT moved();
  return true;
}

QString TimelineGestures::find(const QString& words, bool back) {
  ChartScene& scene = state_.scene;
  if (scene.empty()) return {};
  const TrackQuery query = parseTrackQuery(words.toStdString());
  if (!query.problem.empty()) return QString::fromStdString(query.problem);
  const TimeWindow all = state_.all(), window = state_.chart.window();
  const double from =
      scene.selected.exists() ? static_cast<double>(scene.selected.span.begin_ns) : window.begin_ns;
  auto match = axis_.find(query, from, back, scene);
  const bool round = !match;
  if (round) match = axis_.find(query, back ? all.end_ns + 1 : all.begin_ns - 1, back, scene);
  if (!match) return "nothing found";
  pressed_at_ = {-1, -1};
  const auto begin = static_cast<double>(match->span.begin_ns);
  const auto end = static_cast<double>(match->span.end_ns);
  const double wide = std::max(end - begin, TimeWindow::kLeast) * 8;
  state_.fits_step = false;
  if (begin < window.begin_ns || end > window.end_ns || (end - begin) * 400 < window.length())
    state_.chart.show({(begin + end - wide) / 2, (begin + end + wide) / 2}, all);
  select(*match);
  Q_EMIT moved();
  return round ? "found, round again" : "found";
}

}  // namespace ringscope::viz
