// SPDX-License-Identifier: GPL-3.0-or-later
#include <QAccessible>
#include <QMouseEvent>
#include <QPainter>

#include "viz/views/positions_painter.h"
#include "viz/views/ring_painter.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

/// The ring, and under it each rank's position ids.
class RingView : public View {
 public:
  RingView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Ring: what each rank holds and attends, and the blocks on their way");
    setMinimumSize(320, 240);
    setAttribute(Qt::WA_OpaquePaintEvent);
    connect(&hub, &Hub::traceChanged, this, [this] {
      if (wrongPositions(rows_).second > 0) return;
      rows_step_ = -1;  // they may have arrived now
      update();
    });
    connect(&hub, &Hub::cursorChanged, this,
            [this] { setAccessibleDescription(QString::fromStdString(hub_.scene().sentence)); });
  }

 protected:
  void paintEvent(QPaintEvent* event) override {
    QPainter painter;
    begin(painter);
    const QRegion dirty = zoom_ == 1 ? event->region() : QRegion();
    if (dirty.isEmpty()) painter.fillRect(page(), theme_->background);
    paintRing(painter, ringArea(), hub_, *theme_, dirty);
    const QRectF strip(0, ringArea().bottom(), pageWidth(), pageHeight() - ringArea().bottom());
    if (!dirty.isEmpty() && !dirty.intersects(strip.toAlignedRect())) return;
    if (hub_.empty()) return painter.fillRect(strip, theme_->background);
    refreshRows();
    paintPositionStrip(painter, strip.adjusted(0, 1, 0, 0), rows_, *theme_);
    painter.setPen(QPen(theme_->line, 1));
    painter.drawLine(strip.topLeft(), strip.topRight());
  }

  /// Only what has changed is drawn again; the rest of the picture stays.
  void cursorMoved() override {
    const bool other_rows = hub_.place().train_step != rows_step_ || rows_trace_ != &hub_.trace();
    if (zoom_ != 1 || hub_.empty() || other_rows) return update();
    update(damage_.update(ringArea(), hub_, *theme_));
  }
  void mousePressEvent(QMouseEvent* event) override {
    const int rank = rankAt(onPage(event->position()), ringArea(), hub_.trace().worldSize());
    if (rank >= 0) hub_.selectRank(rank);
  }

 private:
  QRectF ringArea() const {
    const double strip = 30 + 22.0 * std::clamp(hub_.trace().worldSize(), 1, 4) + 8;
    return {0, 0, static_cast<double>(pageWidth()),
            pageHeight() - std::min(strip, pageHeight() * 0.3)};
  }
  void refreshRows() {
    const int step = hub_.place().train_step;
    if (rows_step_ == step && rows_trace_ == &hub_.trace()) return;
    rows_trace_ = &hub_.trace();
    rows_ = positionRows(hub_.trace(), step);
    rows_step_ = step;
  }

  RingDamage damage_;
  std::vector<PositionRow> rows_;
  int rows_step_ = -1;
  const traces::Trace* rows_trace_ = nullptr;
};

}  // namespace

View* makeRingView(Hub& hub, QWidget* parent) {
  return new RingView(hub, parent);
}

}  // namespace ringscope::viz
