// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/curves/curve_plot.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <limits>

#include "viz/kit/page.h"
#include "viz/maths/round_ticks.h"
#include "viz/style/elide.h"

namespace ringscope::viz {
namespace {

constexpr double kPlotTitle = 24, kSteps = 20, kPlotLabels = 76, kValue = 96;
constexpr double kLeastMultiple = 1e-3;  // below it nobody cares how far

bool isNumber(const std::optional<double>& value) {
  return value && std::isfinite(*value);
}

}  // namespace

CurvePlot::CurvePlot(const QRectF& box, const std::vector<std::int32_t>& steps, const Curve& curve)
    : whole_(box),
      plot_(box.adjusted(kPlotLabels, kPlotTitle, -8, -kSteps)),
      steps_(steps),
      curve_(curve),
      logarithmic_(curve.says == Curve::Says::kMultiple) {
  low_ = std::numeric_limits<double>::infinity();
  high_ = -low_;
  include(curve.values);
  include(curve.reference);
  if (logarithmic_) include({1.0});  // the limit
  if (!(low_ <= high_)) low_ = 0, high_ = 1;
  const double flat = high_ > low_ ? 0 : std::max(std::abs(high_) * 0.02, 1e-9);
  const double room = std::max((high_ - low_) * 0.08, flat);
  low_ -= room;
  high_ += room;
}

void CurvePlot::include(const Values& values) {
  for (const auto& value : values) {
    if (!isNumber(value)) continue;
    low_ = std::min(low_, scaled(*value));
    high_ = std::max(high_, scaled(*value));
  }
}

double CurvePlot::scaled(double value) const {
  return logarithmic_ ? std::log10(std::max(value, kLeastMultiple)) : value;
}

double CurvePlot::x(std::int32_t step) const {
  const double first = steps_.front(), last = steps_.back();
  if (first == last) return plot_.center().x();
  return plot_.left() + plot_.width() * (step - first) / (last - first);
}

double CurvePlot::y(double value) const {
  return plot_.bottom() - plot_.height() * (scaled(value) - low_) / (high_ - low_);
}

std::int32_t CurvePlot::stepAt(double at) const {
  const auto nearer = [&](std::int32_t a, std::int32_t b) {
    return std::abs(x(a) - at) <= std::abs(x(b) - at) ? a : b;
  };
  const auto right = std::ranges::lower_bound(steps_, at, {}, [&](std::int32_t s) { return x(s); });
  if (right == steps_.end()) return steps_.back();
  return right == steps_.begin() ? *right : nearer(*std::prev(right), *right);
}

void CurvePlot::paint(QPainter& p, std::int32_t train_step, const Theme& theme) const {
  drawAxes(p, theme);
  drawTitle(p, train_step, theme);
  p.save();
  p.setClipRect(plot_.adjusted(-6, -6, 6, 6));
  drawLine(p, curve_.reference, QPen(theme.dim, 1.5, Qt::DashLine));
  drawLine(p, curve_.values, QPen(theme.accent, 2));
  drawWrong(p, theme);
  if (train_step >= steps_.front() && train_step <= steps_.back()) {
    p.setPen(QPen(theme.text, 1.5));
    p.drawLine(QPointF(x(train_step), plot_.top()), QPointF(x(train_step), plot_.bottom()));
  }
  p.restore();
}

/// Round numbers, of bytes in their unit, of a logarithm whole ones.
std::vector<double> CurvePlot::ticks() const {
  const int most = std::clamp(static_cast<int>(plot_.height() / 24), 2, 6);
  double unit = logarithmic_ ? 1 : 0;
  if (curve_.says == Curve::Says::kBytes)
    unit = std::pow(1024, std::floor(std::log2(std::max(1.0, high_)) / 10));
  if (unit == 0) return roundTicks(low_, high_, most);
  std::vector<double> ticks;
  for (const double tick : roundTicks(low_ / unit, high_ / unit, most))
    if (!logarithmic_ || tick == std::floor(tick)) ticks.push_back(tick * unit);
  return ticks;
}

void CurvePlot::drawAxes(QPainter& p, const Theme& theme) const {
  p.fillRect(plot_, theme.panel);
  p.setFont(monoFont(11));
  for (const double at : ticks()) {
    const double height = plot_.bottom() - plot_.height() * (at - low_) / (high_ - low_);
    p.setPen(QPen(theme.line, 1));
    p.drawLine(QPointF(plot_.left(), height), QPointF(plot_.right(), height));
    p.setPen(theme.dim);
    p.drawText(QRectF(whole_.left(), height - 9, kPlotLabels - 8, 18),
               Qt::AlignRight | Qt::AlignVCenter,
               text(describe(curve_, logarithmic_ ? std::pow(10, at) : at)));
  }
  if (logarithmic_) {
    p.setPen(QPen(theme.wrong, 1, Qt::DashLine));
    p.drawLine(QPointF(plot_.left(), y(1)), QPointF(plot_.right(), y(1)));
  }
  p.setPen(theme.dim);
  const QRectF below(plot_.left(), plot_.bottom() + 3, plot_.width(), kSteps - 3);
  const bool one = steps_.size() == 1;
  p.drawText(below, one ? Qt::AlignHCenter : Qt::AlignLeft, QString("step %1").arg(steps_.front()));
  if (!one) p.drawText(below, Qt::AlignRight, QString::number(steps_.back()));
}

void CurvePlot::drawTitle(QPainter& p, std::int32_t train_step, const Theme& theme) const {
  const QRectF line(plot_.left(), whole_.top(), plot_.width(), kPlotTitle - 4);
  p.setPen(theme.text);
  p.setFont(textFont(13, QFont::DemiBold));
  p.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
             elided(p.fontMetrics(), text(curve_.name), line.width() - kValue));
  const auto at = std::ranges::lower_bound(steps_, train_step);
  if (at == steps_.end() || *at != train_step) return;
  const auto& value = curve_.values[static_cast<std::size_t>(at - steps_.begin())];
  if (!value) return;
  const bool wrong = !std::isfinite(*value) || (logarithmic_ && *value > 1);
  write(p, line, QString(wrong ? "▲ " : "") + text(describe(curve_, *value)), monoFont(13),
        wrong ? theme.wrong : theme.text, Qt::AlignVCenter | Qt::AlignRight);
}

/// A step without a number breaks the line. Steps that share a pixel are drawn as what they span.
void CurvePlot::drawLine(QPainter& p, const Values& values, const QPen& pen) const {
  QPainterPath path;
  p.setPen(pen);
  p.setBrush(Qt::NoBrush);
  bool drawing = false;
  for (std::size_t i = 0; i < values.size();) {
    if (!isNumber(values[i])) {
      drawing = false;
      ++i;
      continue;
    }
    const double left = x(steps_[i]);
    double first = y(*values[i]), last = first, top = first, bottom = first;
    std::size_t next = i + 1;
    for (; next < values.size() && isNumber(values[next]) && x(steps_[next]) < left + 1; ++next) {
      last = y(*values[next]);
      top = std::min(top, last);
      bottom = std::max(bottom, last);
    }
    drawing ? path.lineTo(left, first) : path.moveTo(left, first);
    if (next > i + 1) {
      path.lineTo(left, top);
      path.lineTo(left, bottom);
      path.lineTo(left, last);
    }
    const bool alone = !drawing && (next == values.size() || !isNumber(values[next]));
    if (alone && next == i + 1) path.addEllipse(QPointF(left, first), 2, 2);
    drawing = true;
    i = next;
  }
  p.drawPath(path);
}

/// Marks values that are above their limit or no numbers.
void CurvePlot::drawWrong(QPainter& p, const Theme& theme) const {
  p.setPen(Qt::NoPen);
  p.setBrush(theme.wrong);
  double drawn = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < curve_.values.size(); ++i) {
    const auto& value = curve_.values[i];
    if (!value || (std::isfinite(*value) && !(logarithmic_ && *value > 1))) continue;
    const double at = x(steps_[i]);
    if (at < drawn + 4) continue;
    drawn = at;
    const double height = std::isfinite(*value) ? y(*value) : plot_.top() + 4;
    p.drawPolygon(QPolygonF(
        {QPointF(at, height - 5), QPointF(at - 5, height + 4), QPointF(at + 5, height + 4)}));
  }
}

}  // namespace ringscope::viz
