// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/curves/curves_painter.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/elide.h"
#include "viz/views/curves/curve_plot.h"

namespace ringscope::viz {
namespace {

constexpr double kCurvesHead = 70, kCurvesFoot = 24, kCurvesGap = 16, kCurvesLeast = 92,
                 kCurvesWide = 560;

int columnsFor(double width) {
  return width < kCurvesWide ? 1 : 2;
}

int rowsFor(double width, const CurvesScene& scene) {
  const int columns = columnsFor(width);
  return (static_cast<int>(scene.curves.size()) + columns - 1) / columns;
}

/// The box of each curve, with its title and labels.
std::vector<QRectF> boxesOf(const QRectF& area, const CurvesScene& scene) {
  const QRectF all = area.adjusted(24, kCurvesHead, -24, -kCurvesFoot);
  const int columns = columnsFor(area.width()), rows = rowsFor(area.width(), scene);
  const double w = (all.width() - kCurvesGap * (columns - 1)) / columns,
               h = (all.height() - kCurvesGap * (rows - 1)) / std::max(1, rows);
  std::vector<QRectF> boxes;
  boxes.reserve(scene.curves.size());
  for (int i = 0; i < static_cast<int>(scene.curves.size()); ++i) {
    const int row = i / columns, column = i % columns;
    boxes.emplace_back(all.left() + (w + kCurvesGap) * column, all.top() + (h + kCurvesGap) * row,
                       w, h);
  }
  return boxes;
}

void drawHead(QPainter& p, const QRectF& area, const CurvesScene& scene, std::int32_t train_step,
              const Theme& theme) {
  const auto steps = static_cast<std::int64_t>(scene.steps.size());
  paintTitle(p, titleLine(area),
             steps == 1 ? QString("One training step")
                        : text(traces::describeCount(steps) + " training steps"),
             theme.text);
  paintLead(p, area, text(describeStep(scene, train_step)), theme);
}

void drawFoot(QPainter& p, const QRectF& area, const CurvesScene& scene, const Theme& theme) {
  QString words = "Click a step to go there; Ctrl+← → go by one.";
  if (std::ranges::any_of(scene.curves, [](const Curve& c) { return !c.reference.empty(); }))
    words += " Dashed: the step without sharding, in fp64.";
  if (!scene.missing.empty()) words += " " + text(scene.missing);
  p.setPen(theme.dim);
  p.setFont(textFont(12));
  const QRectF line(area.left() + 24, area.bottom() - kCurvesFoot, area.width() - 48, kCurvesFoot);
  p.drawText(line, Qt::AlignVCenter, elided(p.fontMetrics(), words, line.width()));
}

}  // namespace

void paintCurves(QPainter& p, const QRectF& area, const CurvesScene& scene, std::int32_t train_step,
                 const Theme& theme) {
  p.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(p, area, scene.note, theme);
  drawHead(p, area, scene, train_step, theme);
  const std::vector<QRectF> boxes = boxesOf(area, scene);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    CurvePlot(boxes[i], scene.steps, scene.curves[i]).paint(p, train_step, theme);
  drawFoot(p, area, scene, theme);
}

std::optional<std::int32_t> curvesHit(const QPointF& point, const QRectF& area,
                                      const CurvesScene& scene) {
  if (!scene.note.empty()) return std::nullopt;
  const std::vector<QRectF> boxes = boxesOf(area, scene);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (const CurvePlot plot(boxes[i], scene.steps, scene.curves[i]); plot.box().contains(point))
      return plot.stepAt(point.x());
  return std::nullopt;
}

double curvesHeight(double width, const CurvesScene& scene) {
  const int rows = rowsFor(width, scene);
  return scene.note.empty()
             ? kCurvesHead + kCurvesFoot + rows * kCurvesLeast + (rows - 1) * kCurvesGap
             : 0;
}

}  // namespace ringscope::viz
