// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include "viz/views/timeline/chart_painter.h"
#include "viz/views/timeline/timeline_axis.h"

namespace ringscope::viz {

/// The mouse and the keys of the Timeline view: zoom, move, mark, measure, select.
class TimelineGestures : public QObject {
  Q_OBJECT
 public:
  TimelineGestures(Viewing& viewing, TimelineAxis& axis, TimelineState& state, QObject* parent)
      : QObject(parent), viewing_(viewing), axis_(axis), state_(state) {}

  /// Sets where the parts of the view lie for the events that follow.
  void setPage(const TimelinePage& page, const ChartLayout& chart);
  /// Positions are on the page. False when the event means nothing to the lanes.
  void wheel(const QPointF& point, const QWheelEvent& event);
  bool press(const QPointF& point, const QMouseEvent& event);
  void move(const QPointF& point);
  bool release(const QMouseEvent& event);
  void doubleClick();
  void leave();
  bool key(int key);
  /// Selects the next match of a query, or the one before, and shows it. Returns an answer in
  /// words.
  QString find(const QString& words, bool back);
  bool isDragging() const { return drag_ != Drag::kNone; }

 Q_SIGNALS:
  /// The window, the marks or the bar under the pointer have changed.
  void moved();
  /// Other parts of the page have changed too.
  void changed();

 private:
  enum class Drag { kNone, kLanes, kRange, kOverview };

  double pointerNs() const;
  WindowScale scale() const { return chart_.scale(state_.chart.window()); }
  bool zoomKey(int key);
  void select(const SpanPlace& place);
  void goTo(double axis_ns, WorldRank rank);
  void fit();

  Viewing& viewing_;
  TimelineAxis& axis_;
  TimelineState& state_;
  TimelinePage page_;
  ChartLayout chart_;
  Drag drag_ = Drag::kNone;
  QPointF pointer_, pressed_at_;
  TimeWindow pressed_window_;
  double pressed_scroll_ = 0;
  bool pointer_inside_ = false, dragged_ = false;
};

}  // namespace ringscope::viz
