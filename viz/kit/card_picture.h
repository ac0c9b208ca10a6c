// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QPainter>
#include <QPainterPath>
#include <QWidget>

namespace ringscope::viz {

/// A picture under the upper corners of a card. It is as wide as the card, and its lower part is
/// left out when the card has no room for it.
class CardPicture : public QWidget {
 public:
  using QWidget::QWidget;

  /// The height that the picture takes where a page has room for it.
  static constexpr int kHeight = 210;
  QSize sizeHint() const override { return {kHeight, kHeight}; }

  void setImage(const QImage& image) {
    image_ = image;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    if (image_.isNull()) return;
    constexpr double kRadius = 9;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setRenderHint(QPainter::SmoothPixmapTransform);
    const QRectF box = QRectF(rect()).adjusted(1, 1, -1, 0);
    QPainterPath corners, clip;
    corners.addRoundedRect(box.adjusted(0, 0, 0, kRadius), kRadius, kRadius);
    clip.addRect(box);
    painter.setClipPath(corners & clip);
    const double wide = image_.width();
    painter.drawImage(box, image_, QRectF(0, 0, wide, wide * box.height() / box.width()));
  }

 private:
  QImage image_;
};

}  // namespace ringscope::viz
