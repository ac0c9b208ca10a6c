// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/chart_marks.h"

#include <algorithm>

#include "viz/scene/units.h"
#include "viz/views/timeline/chart_tag.h"
#include "viz/views/timeline/ruler_scene.h"

namespace ringscope::viz {

void ChartMarks::paint() {
  folds();
  range();
  marks();
  instant();
}

std::vector<QRectF> ChartMarks::tags() const {
  std::vector<QRectF> tags;
  if (isOnLanes(scene_.instant_ns))
    tags.push_back(
        chartTagBox(at_.area, scale_.x(scene_.instant_ns), at_.ruler.top(), instantWords()));
  for (const double mark : scene_.marks)
    if (isOnLanes(mark))
      tags.push_back(chartTagBox(at_.area, scale_.x(mark), at_.ruler.top(), "M9"));
  return tags;
}

void ChartMarks::folds() {
  const TimeFolds& folds = scene_.tracks->folds;
  p_.setFont(textFont(10));
  for (std::size_t i = 0; i < folds.all().size(); ++i) {
    const double x = scale_.x(static_cast<double>(folds.places()[i]));
    if (x < at_.lanes.left() || x > at_.lanes.right()) continue;
    p_.setPen(QPen(theme_.dim, 1, Qt::DashLine));
    p_.drawLine(QPointF(x, at_.ruler.bottom() - 4), QPointF(x, at_.lanes.bottom()));
    p_.drawText(QPointF(x + 4, at_.lanes.bottom() - 4),
                QString("held %1").arg(describeDuration(folds.all()[i].length()).c_str()));
  }
}

bool ChartMarks::isOnLanes(double ns) const {
  const double x = scale_.x(ns);
  return x >= at_.lanes.left() && x <= at_.lanes.right();
}

QString ChartMarks::instantWords() const {
  return describeTime(scene_.instant_ns - scene_.origin_ns, scale_.perPixel()).c_str();
}

void ChartMarks::tag(double x, double top, const QString& words, const QColor& ground,
                     const QColor& ink) {
  paintChartTag(p_, chartTagBox(at_.area, x, top, words), words, ground, ink);
}

void ChartMarks::range() {
  if (!scene_.range) return;
  const double left = std::max(at_.lanes.left(), scale_.x(scene_.range->begin_ns));
  const double right = std::min(at_.lanes.right(), scale_.x(scene_.range->end_ns));
  if (right < left) return;
  QColor fill = theme_.accent;
  fill.setAlpha(38);
  p_.fillRect(QRectF(left, at_.lanes.top(), right - left, at_.lanes.height()), fill);
  p_.setPen(QPen(theme_.accent, 1));
  for (const double x : {left, right})
    p_.drawLine(QPointF(x, at_.ruler.top() + 2), QPointF(x, at_.lanes.bottom()));
  tag((left + right) / 2, at_.lanes.bottom() - 22, QString::fromStdString(scene_.range_words),
      theme_.raised, theme_.text);
}

void ChartMarks::marks() {
  int number = 0;
  for (const double mark : scene_.marks) {
    ++number;
    if (!isOnLanes(mark)) continue;
    const double x = scale_.x(mark);
    p_.setPen(QPen(theme_.accent, 1, Qt::DotLine));
    p_.drawLine(QPointF(x, at_.ruler.top() + 18), QPointF(x, at_.lanes.bottom()));
    tag(x, at_.ruler.top(), QString("M%1").arg(number), theme_.accent, theme_.on_accent);
  }
}

void ChartMarks::instant() {
  if (!isOnLanes(scene_.instant_ns)) return;
  const double x = scale_.x(scene_.instant_ns);
  p_.setPen(QPen(theme_.text, 2));
  p_.drawLine(QPointF(x, at_.ruler.top() + 18), QPointF(x, at_.lanes.bottom()));
  tag(x, at_.ruler.top(), instantWords(), theme_.text, theme_.background);
}

}  // namespace ringscope::viz
