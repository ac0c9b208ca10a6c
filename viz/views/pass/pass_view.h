// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPixmap>

#include "viz/views/base/view.h"
#include "viz/views/pass/pass_scene.h"

namespace ringscope::viz {

/// The timeline of the viewed pass; a click or a drag scrubs.
class TimelineStrip : public View {
  Q_OBJECT
 public:
  explicit TimelineStrip(Viewing& viewing, QWidget* parent = nullptr);
  const PassScene& scene() const { return scene_; }
  /// As high as its lanes need.
  QSize sizeHint() const override;

 Q_SIGNALS:
  /// It needs another height than before.
  void lanesChanged();

 protected:
  void refresh() override;
  void paint(QPainter& painter, const QRectF& page, const QRegion& dirty) override;
  Cursor watched(Cursor cursor) const override;
  /// Within a pass only the viewed instant moves.
  void moved() override;
  void themeChanged() override { picture_ = QPixmap(); }
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  void scrub(const QPointF& point);
  QRect instantRect() const;

  PassScene scene_;
  std::int64_t instant_ns_ = 0;
  QPixmap picture_;  // of the scene, without the viewed instant; null: to be drawn
};

}  // namespace ringscope::viz
