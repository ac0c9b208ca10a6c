// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QScrollBar>
#include <QWidget>
#include <algorithm>

namespace ringscope::viz {

/// A widget that shows a page at a zoom. A page that is higher than the widget has a scroll bar;
/// the wheel, Page Up and Page Down also scroll it. Lengths on the page are in unzoomed pixels.
class ScrolledPage : public QWidget {
  Q_OBJECT
 public:
  explicit ScrolledPage(const QString& name, QWidget* parent = nullptr);

 protected:
  /// Places the view's own controls. Called when the size, the zoom, the scene or the scroll
  /// position has changed.
  virtual void arrange() {}
  /// Returns the height that the page needs at this width.
  virtual double neededHeight(double /*width*/) const { return 0; }

  /// Gives the scroll bar the range and the place that the page needs, and places other controls.
  void fitScrollBar();
  /// Fits the scroll bar later if the height of the page has changed. Safe while painting.
  void followHeight();
  void scrollToTop() { scroll_bar_->setValue(0); }
  /// Scrolls until this stretch of the page is visible under the top `head` pixels of the widget.
  void reveal(double top, double bottom, double head = 0);

  /// Returns the whole page. The visible part begins at scrollTop().
  QRectF page() const {
    const QSizeF seen = QSizeF(size()) / zoom_;
    return {0, 0, seen.width(), std::max(seen.height(), neededHeight(seen.width()))};
  }
  bool scrolls() const { return farthestScroll() > 0; }
  double scrollTop() const { return std::clamp<double>(scroll_bar_->value(), 0, farthestScroll()); }
  QPointF onPage(const QPointF& position) const {
    return position / zoom_ + QPointF(0, scrollTop());
  }
  /// Returns the pixels of the widget that show a box of the page.
  QRect onView(const QRectF& box) const {
    return QRectF((box.topLeft() - QPointF(0, scrollTop())) * zoom_, box.size() * zoom_).toRect();
  }

  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

  double zoom_ = 1;

 private:
  double farthestScroll() const {
    return std::max(0.0, page().height() - QWidget::height() / zoom_);
  }
  void scrollBy(double by);

  QScrollBar* scroll_bar_;  // its value is the offset of the page
};

}  // namespace ringscope::viz
