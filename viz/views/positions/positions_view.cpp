// SPDX-License-Identifier: GPL-3.0-or-later
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QWheelEvent>

#include "viz/kit/plain_key.h"
#include "viz/views/base/merge_menu.h"
#include "viz/views/base/view.h"
#include "viz/views/positions/positions_painter.h"

namespace ringscope::viz {
namespace {

/// Every sharded buffer of the selected rank, token by token. ↑ ↓ or the wheel move along the
/// tokens; a click on a rank's bar goes there. A click selects a token, and a double click shows
/// its merge.
class PositionsView : public View {
 public:
  PositionsView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Positions: tokens, position ids and labels of each rank's shard", parent) {}

 protected:
  Cursor watched(Cursor cursor) const override {
    Cursor seen;
    seen.group = cursor.group;
    seen.rank = cursor.rank;
    seen.place.train_step = cursor.place.train_step;
    seen.token = cursor.token;
    seen.sealed = cursor.sealed;
    return seen;
  }
  void startOver() override { first_ = 0; }
  void refresh() override {
    scene_ = makePositionsScene(viewing_.session.trace(), cursor(),
                                viewing_.session.positions(cursor()));
    describe(viz::describe(*scene_));
    goTo(first_);
    revealSelected();
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    if (scene_) paintPositions(painter, page, *scene_, first_, *theme_);
  }

  void mousePressEvent(QMouseEvent* event) override {
    if (!scene_) return;
    if (const TokenIndex token = tokenAt(event->position()); token.exists())
      return selectToken(viewing_, token);
    const auto hit = positionsHit(onPage(event->position()), page(), *scene_);
    if (!hit) return;
    viewing_.navigator.selectRank(hit->rank);
    const auto tokens = static_cast<double>(scene_->table.cells.size());
    goTo(static_cast<int>(hit->share * tokens) - visibleTokens(page(), *scene_) / 2);
  }
  void mouseDoubleClickEvent(QMouseEvent* event) override {
    const TokenIndex token = tokenAt(event->position());
    token.exists() ? showMerge(viewing_, token) : mousePressEvent(event);
  }
  void contextMenuEvent(QContextMenuEvent* event) override {
    openMergeMenu(*this, viewing_, tokenAt(event->pos()), event->globalPos());
  }
  void wheelEvent(QWheelEvent* event) override {
    goTo(first_ - (event->angleDelta().y() + event->angleDelta().x()) / 40);
  }
  void keyPressEvent(QKeyEvent* event) override {
    const int page_size = scene_ ? visibleTokens(page(), *scene_) : 1;
    const int key = plainKey(*event);
    const int by = key == Qt::Key_Down       ? 1
                   : key == Qt::Key_Up       ? -1
                   : key == Qt::Key_PageDown ? page_size
                   : key == Qt::Key_PageUp   ? -page_size
                                             : 0;
    if (by == 0) return View::keyPressEvent(event);
    goTo(first_ + by);
  }

 private:
  void goTo(int first) {
    if (scene_) first_ = clampedFirst(first, page(), *scene_);
    update();
  }

  TokenIndex tokenAt(const QPointF& point) const {
    const auto at =
        scene_ ? positionsTokenHit(onPage(point), page(), *scene_, first_) : std::nullopt;
    return at ? scene_->table.cells[static_cast<std::size_t>(*at)].global : TokenIndex::none();
  }
  /// Moves to the selected token once, when another view or the user has selected it.
  void revealSelected() {
    if (revealed_ == cursor().token) return;
    revealed_ = cursor().token;
    if (scene_->selected < 0) return;
    const int visible = visibleTokens(page(), *scene_);
    if (scene_->selected < first_ || scene_->selected >= first_ + visible)
      goTo(scene_->selected - visible / 2);
  }

  std::optional<PositionsScene> scene_;
  int first_ = 0;        // token that is shown first
  TokenIndex revealed_;  // the selected token that the view has moved to
};

}  // namespace

View* makePositionsView(Viewing& viewing, QWidget* parent) {
  return new PositionsView(viewing, parent);
}

}  // namespace ringscope::viz
