// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolButton>

#include "viz/kit/plain_key.h"
#include "viz/views/base/view.h"
#include "viz/views/diff/diff_painter.h"

namespace ringscope::viz {
namespace {

/// The errors of the viewed training step, each divided by its limit, as tables of layers ×
/// tensors, and a map of the error in the chosen tensor. A click chooses a tensor. U changes the
/// unit.
class DiffView : public View {
 public:
  DiffView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Diff: errors against unsharded attention each against its limit", parent) {
    for (QToolButton*& button : units_) {
      button = new QToolButton(this);
      button->setObjectName("compact");
      button->setCheckable(true);
      button->setFocusPolicy(Qt::TabFocus);
      connect(button, &QToolButton::clicked, this,
              [this, at = static_cast<int>(&button - units_.data())] {
                setUnit(static_cast<ErrorUnit>(at));
              });
    }
  }

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
  void arrange() override {
    const std::vector<UnitButton> places = diffUnits(page(), scene_);
    for (QToolButton* button : units_) button->setVisible(!places.empty());
    for (const UnitButton& place : places) {
      QToolButton* button = units_[static_cast<std::size_t>(place.unit)];
      button->setText(place.name);
      button->setAccessibleName(QString("Unit of errors: %1").arg(place.name));
      button->setChecked(place.unit == unit_);
      button->setGeometry(onView(place.box));
    }
  }
  void mousePressEvent(QMouseEvent* event) override {
    const auto cell = diffHit(onPage(event->position()), page(), scene_);
    if (!cell) return;
    Cursor to = cursor();
    to.place = cell->place;
    to.phase = 0;
    to.tensor = cell->tensor;
    viewing_.navigator.setCursor(to);
  }
  void keyPressEvent(QKeyEvent* event) override {
    if (plainKey(*event) != Qt::Key_U) return View::keyPressEvent(event);
    setUnit(static_cast<ErrorUnit>((static_cast<int>(unit_) + 1) % kUnits));
  }

 private:
  static constexpr int kUnits = 4;

  void setUnit(ErrorUnit unit) {
    unit_ = unit;
    renew();
  }

  DiffScene scene_;
  ErrorUnit unit_ = ErrorUnit::kLimit;
  std::array<QToolButton*, kUnits> units_{};  // by unit
};

}  // namespace

View* makeDiffView(Viewing& viewing, QWidget* parent) {
  return new DiffView(viewing, parent);
}

}  // namespace ringscope::viz
