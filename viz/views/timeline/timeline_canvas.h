// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPixmap>
#include <QRegion>
#include <vector>

#include "viz/views/timeline/chart_painter.h"
#include "viz/views/timeline/timeline_page.h"
#include "viz/views/timeline/timeline_state.h"

namespace ringscope::viz {

/// A word in a frame on the bar of the Timeline view. The shorter form is used where the longer one
/// has no room.
struct TimelineChip {
  QString words, shorter;
  bool warns = false;
};

/// The drawing of the Timeline view, with the pictures that it keeps from frame to frame.
class TimelineCanvas {
 public:
  struct Look {
    TimelinePage at;
    ChartLayout chart;
    std::vector<TimelineChip> chips;
    double chips_left = 0, chips_right = 0;  ///< the room for chips on the bar
    double density = 1;                      ///< device pixels per pixel of the page
  };
  /// Draws the parts of the page that `dirty` touches; all parts when it is empty.
  void paint(QPainter& painter, const QRectF& page, const QRegion& dirty, const Look& look,
             const StepAccount& account, TimelineState& state, const Theme& theme);
  /// Draws the overview again with the next frame.
  void forgetOverview() { overview_ = QPixmap(); }
  /// Draws everything again with the next frame.
  void forget();
  /// The number of shapes of the last frame.
  int primitives() const { return canvas_.primitives; }

 private:
  void paintAround(QPainter& painter, const QRectF& page, const QRegion& dirty, const Look& look,
                   const StepAccount& account, TimelineState& state, const Theme& theme);
  void paintOverviewKept(QPainter& painter, const Look& look, const ChartScene& scene,
                         const Theme& theme);

  ChartCanvas canvas_;
  QPixmap overview_;  // without the window; null: to be drawn
};

}  // namespace ringscope::viz
