// SPDX-License-Identifier: GPL-3.0-or-later
#include <QMouseEvent>
#include <QPixmap>

#include "viz/style/shapes.h"
#include "viz/views/base/live_throttle.h"
#include "viz/views/base/view.h"
#include "viz/views/memory/memory_painter.h"

namespace ringscope::viz {
namespace {

/// Memory of the selected rank over the run, and the law. A click on the chart goes to that moment.
class MemoryView : public View {
 public:
  MemoryView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Memory: bytes of the selected rank by category, peak and law", parent) {}

 protected:
  Cursor watched(Cursor cursor) const override {
    Cursor seen;
    seen.group = cursor.group;
    seen.rank = cursor.rank;
    return seen;
  }
  void refresh() override {
    scene_.rank == cursor().rank ? throttle_.request() : throttle_.makeNow();
  }
  void moved() override {
    instant_ = viewing_.navigator.instant();
    update();
  }
  void themeChanged() override { picture_ = QPixmap(); }

  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    writesShapes(painter) ? paintMemory(painter, page, scene_, *theme_) : copy(painter, page);
    paintMemoryInstant(painter, page, scene_, instant_, *theme_);
  }
  void mousePressEvent(QMouseEvent* event) override {
    if (const auto instant = memoryHit(onPage(event->position()), page(), scene_))
      viewing_.navigator.goToInstant(*instant);
  }

 private:
  /// Draws the chart once, and then copies it.
  void copy(QPainter& painter, const QRectF& page) {
    const double ratio = devicePixelRatioF();
    if (picture_.size() != size() * ratio) {
      picture_ = QPixmap(size() * ratio);
      picture_.setDevicePixelRatio(ratio);
      QPainter once(&picture_);
      once.setRenderHint(QPainter::Antialiasing);
      once.scale(zoom_, zoom_);
      paintMemory(once, page, scene_, *theme_);
    }
    painter.drawPixmap(page, picture_, QRectF(picture_.rect()));
  }
  void make() {
    MemoryScene scene =
        makeMemoryScene(viewing_.session.trace(), cursor(), viewing_.session.pauses(cursor().rank));
    if (scene != scene_) picture_ = QPixmap();
    scene_ = std::move(scene);
    describe(scene_.note);
    moved();
  }

  MemoryScene scene_;
  std::int64_t instant_ = 0;  // that is viewed
  QPixmap picture_;           // of the scene, without the viewed instant; null: to be drawn
  LiveThrottle throttle_{this, viewing_.session, [this] { guard([this] { make(); }); }};
};

}  // namespace

View* makeMemoryView(Viewing& viewing, QWidget* parent) {
  return new MemoryView(viewing, parent);
}

}  // namespace ringscope::viz
