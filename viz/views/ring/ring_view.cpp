// SPDX-License-Identifier: GPL-3.0-or-later
#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>

#include "viz/views/base/view.h"
#include "viz/views/ring/ring_painter.h"

namespace ringscope::viz {
namespace {

/// The ring, and under it each rank's position ids. Only what has changed is drawn again.
class RingView : public View {
 public:
  RingView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Ring: what each rank holds and attends, and the blocks on their way",
             parent) {
    setAttribute(Qt::WA_OpaquePaintEvent);
  }

 protected:
  void refresh() override {
    const auto strip = viewing_.session.positions(cursor());
    const bool ranks_changed = !scene_ || scene_->ranks.empty();
    scene_ = viewing_.session.ring(cursor());
    describe(scene_->note.empty() ? scene_->sentence : scene_->note);
    if (strip == strip_ && !ranks_changed && !scene_->ranks.empty()) return drawChanges();
    strip_ = strip;
    update();
  }
  void moved() override {
    // On the time axis the other ranks go on by themselves.
    scene_ = viewing_.session.ring(cursor());
    drawChanges();
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion& dirty) override {
    if (scene_) paintRingPage(painter, page, *scene_, *strip_, cursor().phase, *theme_, dirty);
  }
  /// All is drawn at its new place; from there on it is known what has changed.
  void resizeEvent(QResizeEvent* event) override {
    View::resizeEvent(event);
    if (scene_ && !scene_->ranks.empty())
      damage_.update(ringAreas(page(), *scene_).ring, *scene_, cursor().phase, *theme_);
  }
  /// Shows the full words of a card or of the strip's head.
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip || !scene_) return View::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QPointF point = onPage(help->pos());
    const RingAreas areas = ringAreas(page(), *scene_);
    const std::string tip = areas.strip.contains(point) && strip_
                                ? strip_->verdict()
                                : describeCardAt(point, areas.ring, *scene_);
    QToolTip::showText(help->globalPos(), QString::fromStdString(tip), this);
    return true;
  }
  void mousePressEvent(QMouseEvent* event) override {
    if (!scene_) return;
    const WorldRank rank =
        rankAt(onPage(event->position()), ringAreas(page(), *scene_).ring, *scene_);
    if (rank.exists()) viewing_.navigator.selectRank(rank);
  }

 private:
  void drawChanges() {
    if (zoom_ != 1 || scene_->ranks.empty()) return update();
    update(damage_.update(ringAreas(page(), *scene_).ring, *scene_, cursor().phase, *theme_));
  }

  RingDamage damage_;
  std::shared_ptr<const RingScene> scene_;
  std::shared_ptr<const PositionStrip> strip_;
};

}  // namespace

View* makeRingView(Viewing& viewing, QWidget* parent) {
  return new RingView(viewing, parent);
}

}  // namespace ringscope::viz
