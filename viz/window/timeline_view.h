// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPixmap>

#include "viz/views/view.h"

namespace ringscope::viz {

/// The timeline of the viewed pass; a click or a drag scrubs.
class TimelineView : public View {
  Q_OBJECT
 public:
  explicit TimelineView(Hub& hub, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent*) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  void scrub(const QPointF& point);
  void refreshPass();
  bool passIsDrawn() const;
  /// Within a pass only the viewed instant moves.
  void cursorMoved() override;

  QPixmap pass_;  // the timeline without the viewed instant, of the pass below
  Place drawn_pass_;
  std::size_t drawn_events_ = 0;
  int drawn_rank_ = -1;
  const Theme* drawn_theme_ = nullptr;
  QRect instant_;  // where it was drawn last
};

}  // namespace ringscope::viz
