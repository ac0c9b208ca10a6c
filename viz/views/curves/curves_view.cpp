// SPDX-License-Identifier: GPL-3.0-or-later
#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>

#include "viz/views/base/live_throttle.h"
#include "viz/views/base/view.h"
#include "viz/views/curves/curves_painter.h"

namespace ringscope::viz {
namespace {

/// The log and the verification of each training step as curves. A click goes to the step.
class CurvesView : public View {
 public:
  CurvesView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Curves: loss, gradient norm, verdicts, speed and memory over training steps",
             parent) {
    setMouseTracking(true);
  }

 protected:
  /// The viewed step is drawn over the scene.
  Cursor watched(Cursor) const override { return Cursor(); }
  void refresh() override { throttle_.request(); }
  void moved() override {
    describe(scene_.note.empty() ? describeStep(scene_, cursor().place.train_step) : scene_.note);
    update();
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    paintCurves(painter, page, scene_, cursor().place.train_step, *theme_);
  }
  double neededHeight(double width) const override { return curvesHeight(width, scene_); }

  void mousePressEvent(QMouseEvent* event) override {
    const auto step = curvesHit(onPage(event->position()), page(), scene_);
    if (!step) return;
    Cursor at = cursor();
    at.place.train_step = *step;
    at.phase = 0;
    viewing_.navigator.goTo(at);
    if (cursor().place.train_step != *step)
      Q_EMIT viewing_.navigator.told(
          QString("step %1 has logged its numbers alone: no events of it are recorded").arg(*step));
  }
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip) return View::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto step = curvesHit(onPage(help->pos()), page(), scene_);
    QToolTip::showText(help->globalPos(),
                       step ? QString::fromStdString(describeStep(scene_, *step)) : QString(),
                       this);
    return true;
  }

 private:
  void make() {
    scene_ = makeCurvesScene(viewing_.session.trace());
    moved();
  }

  CurvesScene scene_;
  LiveThrottle throttle_{this, viewing_.session, [this] { guard([this] { make(); }); }};
};

}  // namespace

View* makeCurvesView(Viewing& viewing, QWidget* parent) {
  return new CurvesView(viewing, parent);
}

}  // namespace ringscope::viz
