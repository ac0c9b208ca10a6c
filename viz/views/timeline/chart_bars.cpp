// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/chart_bars.h"

#include <algorithm>
#include <cmath>

#include "viz/style/face.h"
#include "viz/style/shade_style.h"
#include "viz/style/shapes.h"

namespace ringscope::viz {
namespace {

constexpr double kLeastPattern = 10, kLeastWords = 10;  // width, height

int sizeFor(double height) {
  return std::clamp(static_cast<int>(height * 0.46), 8, 12);
}

QFont plateFont(const QRectF& box) {
  return textFont(sizeFor(box.height()), QFont::Bold);
}

double plateWidth(const QString& label, const QRectF& box) {
  return QFontMetricsF(plateFont(box)).horizontalAdvance(label) + 10;
}

/// Draws the label of a bar's box on its light plate.
void drawPlate(QPainter& p, const QRectF& plate, const QString& label, const QRectF& box,
               const Theme& theme) {
  p.save();
  p.setPen(Qt::NoPen);
  p.setBrush(theme.plate);
  p.drawRoundedRect(plate, 3, 3);
  p.setPen(theme.on_plate);
  p.setFont(plateFont(box));
  p.drawText(plate, Qt::AlignCenter, label);
  p.restore();
}

void drawWords(QPainter& p, const QRectF& box, const QString& words, const QColor& color,
               int size) {
  const QFont font = textFont(size, QFont::DemiBold);
  if (QFontMetricsF(font).horizontalAdvance(words) > box.width()) return;
  p.save();
  p.setFont(font);
  p.setPen(color);
  p.drawText(box, Qt::AlignVCenter | Qt::TextDontClip, words);
  p.restore();
}

}  // namespace

void BarPainter::paint(const QRectF& box, const Span& span, std::int64_t bytes) {
  ++canvas_.primitives;
  switch (span.shade) {
    case Shade::kAttend:
      return attend(box, span);
    case Shade::kWait:
      return wait(box);
    case Shade::kPause:
      return pause(box);
    case Shade::kMessage:
      return message(box, span, bytes);
    default:
      return work(box, span);
  }
}

void BarPainter::attend(const QRectF& box, const Span& span) {
  const auto source = WorldRank::of(span.source);
  if (box.width() < kLeastPattern || span.source < 0) {
    p_.fillRect(box, span.source < 0 ? shadeColor(span.shade, theme_) : rankColor(source));
  } else {
    p_.setBrushOrigin(box.topLeft());
    p_.fillRect(box, rankBrush(source));
  }
  if (span.source >= 0) plate(box, QString::fromStdString(spanLabel(span, 0)));
}

/// The label on its light plate, drawn once and then copied: there may be a thousand.
void BarPainter::plate(const QRectF& box, const QString& whole) {
  if (box.height() < kLeastWords || box.width() < 18) return;
  const double inset = std::max(2.0, std::round(box.height() * 0.2));
  const QString label = box.width() < 48 ? whole.section(' ', -1) : whole;
  const double height = box.height() - 2 * inset;
  if (writesShapes(p_)) {
    const QRectF plate(box.left() + inset, box.top() + inset, plateWidth(label, box), height);
    if (plate.width() <= box.width() - 2 * inset) drawPlate(p_, plate, label, box, theme_);
    return;
  }
  const QString key = QString("plate %1 %2").arg(label).arg(height);
  QPixmap& kept = canvas_.words[key];
  const double ratio = p_.device()->devicePixelRatioF() * p_.transform().m11();
  if (kept.isNull()) {
    const double width = plateWidth(label, box);
    kept = QPixmap(QSizeF(width * ratio, height * ratio).toSize().expandedTo({1, 1}));
    kept.setDevicePixelRatio(ratio);
    kept.fill(Qt::transparent);
    QPainter once(&kept);
    once.setRenderHint(QPainter::Antialiasing);
    drawPlate(once, QRectF(0, 0, width, height), label, box, theme_);
  }
  if (kept.width() / ratio > box.width() - 2 * inset) return;
  ++canvas_.primitives;
  p_.drawPixmap(QPointF(std::round((box.left() + inset) * ratio) / ratio,
                        std::round((box.top() + inset) * ratio) / ratio),
                kept);
}

void BarPainter::wait(const QRectF& box) {
  p_.fillRect(box, theme_.background);
  p_.setBrushOrigin(box.topLeft());
  p_.fillRect(box, QBrush(theme_.wait, Qt::BDiagPattern));
  frame(box, theme_.wait, 1);
}

void BarPainter::pause(const QRectF& box) {
  p_.fillRect(box, theme_.raised);
  frame(box, theme_.dim, 1);
  words(box, "paused", theme_.dim, sizeFor(box.height()));
}

void BarPainter::message(const QRectF& box, const Span& span, std::int64_t bytes) {
  QColor color = span.source >= 0 ? rankColor(WorldRank::of(span.source))
                                  : shadeColor(Shade::kMessage, theme_);
  const bool gradient = span.payload == static_cast<std::uint8_t>(traces::Payload::kDkv);
  const QString label = QString::fromStdString(spanLabel(span, bytes));
  if (!gradient) {
    p_.fillRect(box, color);
    return words(box, label, inkOn(color), sizeFor(box.height() * 1.5));
  }
  // dK and dV are hollow, so that the two are told apart without the hue.
  p_.fillRect(box, theme_.background);
  frame(box, color, 1.5);
  words(box, label, theme_.text, sizeFor(box.height() * 1.5));
}

void BarPainter::work(const QRectF& box, const Span& span) {
  const QColor color = shadeColor(span.shade, theme_);
  p_.fillRect(box, color);
  if (span.shade != Shade::kMerge)
    words(box, QString::fromStdString(spanLabel(span, 0)), inkOn(color), sizeFor(box.height()));
}

void BarPainter::frame(const QRectF& box, const QColor& color, double width) {
  if (box.width() <= 2 * width || box.height() <= 2 * width) return p_.fillRect(box, color);
  p_.fillRect(QRectF(box.left(), box.top(), box.width(), width), color);
  p_.fillRect(QRectF(box.left(), box.bottom() - width, box.width(), width), color);
  p_.fillRect(QRectF(box.left(), box.top(), width, box.height()), color);
  p_.fillRect(QRectF(box.right() - width, box.top(), width, box.height()), color);
}

/// Left where there is room for all of them, else none.
void BarPainter::words(const QRectF& box, const QString& words, const QColor& color, int size) {
  constexpr double kInset = 5;
  if (box.height() < kLeastWords || box.width() < 24 || words.isEmpty()) return;
  if (writesShapes(p_))
    return drawWords(p_, box.adjusted(kInset, 0, -kInset, 0), words, color, size);
  const QString key = QString("%1 %2 %3").arg(words, color.name()).arg(size);
  QPixmap& kept = canvas_.words[key];
  const double ratio = p_.device()->devicePixelRatioF() * p_.transform().m11();
  if (kept.isNull()) {
    const QFont font = textFont(size, QFont::DemiBold);
    const QFontMetricsF metrics(font);
    kept = QPixmap(QSizeF(std::ceil(metrics.horizontalAdvance(words)) * ratio + 2,
                          std::ceil(metrics.height()) * ratio)
                       .toSize());
    kept.setDevicePixelRatio(ratio);
    kept.fill(Qt::transparent);
    QPainter once(&kept);
    once.setFont(font);
    once.setPen(color);
    once.drawText(QPointF(0, metrics.ascent()), words);
  }
  const QSizeF needs = QSizeF(kept.size()) / ratio;
  if (needs.width() > box.width() - 2 * kInset) return;
  ++canvas_.primitives;
  const double y = box.center().y() - needs.height() / 2;
  p_.drawPixmap(
      QPointF(std::round((box.left() + kInset) * ratio) / ratio, std::round(y * ratio) / ratio),
      kept);
}

}  // namespace ringscope::viz
