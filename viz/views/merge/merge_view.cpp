// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>

#include "viz/kit/plain_key.h"
#include "viz/session/selected_token.h"
#include "viz/views/base/view.h"
#include "viz/views/merge/merge_painter.h"

namespace ringscope::viz {
namespace {

/// How one output row came together. ↑ ↓ choose the query, Page Up and Page Down the head.
class MergeView : public View {
 public:
  MergeView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Merge: how one output row came together, block by block", parent) {}

 protected:
  Cursor watched(Cursor cursor) const override {
    cursor.phase = 0;
    cursor.tensor.clear();
    cursor.axis = Axis::kRingStep;
    return cursor;
  }
  void startOver() override { row_ = {}; }
  void refresh() override {
    scene_ = {};
    scene_ = makeMergeScene(viewing_.session.trace(), cursor(), row_);
    row_ = scene_.row;
    describe(scene_.note);
    update();
  }
  double neededHeight(double) const override { return mergeHeight(scene_); }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    paintMerge(painter, page, scene_, *theme_);
  }
  void keyPressEvent(QKeyEvent* event) override {
    switch (plainKey(*event)) {
      case Qt::Key_Up:
        row_.query = std::max<std::int64_t>(0, row_.query - 1);
        break;
      case Qt::Key_Down:
        ++row_.query;
        break;
      case Qt::Key_PageUp:
        --row_.head;
        break;
      case Qt::Key_PageDown:
        ++row_.head;
        break;
      default:
        return View::keyPressEvent(event);
    }
    showRow();
  }

 private:
  /// Shows the chosen row, whose token becomes the selected one in all views.
  void showRow() {
    Cursor without = cursor();
    without.token = TokenIndex::none();
    const MergeScene scene = makeMergeScene(viewing_.session.trace(), without, row_);
    row_ = scene.row;
    if (scene.token.exists() && scene.token != cursor().token)
      return selectToken(viewing_, scene.token);
    renew();
  }

  MergeScene scene_;
  MergeRow row_;
};

}  // namespace

View* makeMergeView(Viewing& viewing, QWidget* parent) {
  return new MergeView(viewing, parent);
}

}  // namespace ringscope::viz
