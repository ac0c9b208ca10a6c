// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>
#include <QMouseEvent>

#include "viz/views/base/view.h"
#include "viz/views/diff/diff_painter.h"

namespace ringscope::viz {
namespace {

/// Layers × tensors of the viewed training step, each error ÷ its limit, and where in the
/// chosen tensor its error lies. A click chooses; U changes the unit.
class DiffView : public View {
 public:
  DiffView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Diff: errors against unsharded attention each against its limit", parent) {}

 protected:
  Cursor watched(Cursor cursor) const override {
    Cursor seen;
    seen.group = cursor.group;
    seen.place.train_step = cursor.place.train_step;
    seen.place.layer = cursor.place.layer;
    seen.tensor = cursor.tensor;
    return seen;
  }
  void refresh() override {
    scene_ = makeDiffScene(viewing_.session.trace(), cursor(), unit_, viewing_.session.live());
    describe(scene_.note);
    update();
  }
  double neededHeight(double width) const override { return diffHeight(width, scene_); }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    paintDiff(painter, page, scene_, *theme_);
  }
  void mousePressEvent(QMouseEvent* event) override {
    const DiffHit hit = diffHit(onPage(event->position()), page(), scene_);
    if (hit.unit) return setUnit(*hit.unit);
    if (!hit.cell) return;
    Cursor to = cursor();
    to.place = hit.cell->place;
    to.phase = 0;
    to.tensor = hit.cell->tensor;
    viewing_.navigator.setCursor(to);
  }
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() != Qt::Key_U) return View::keyPressEvent(event);
    setUnit(unit_ == ErrorUnit::kLimit      ? ErrorUnit::kAbsolute
            : unit_ == ErrorUnit::kAbsolute ? ErrorUnit::kRelative
            : unit_ == ErrorUnit::kRelative ? ErrorUnit::kUlp
                                            : ErrorUnit::kLimit);
  }

 private:
  void setUnit(ErrorUnit unit) {
    unit_ = unit;
    renew();
  }

  DiffScene scene_;
  ErrorUnit unit_ = ErrorUnit::kLimit;
};

}  // namespace

View* makeDiffView(Viewing& viewing, QWidget* parent) {
  return new DiffView(viewing, parent);
}

}  // namespace ringscope::viz
