// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/overview_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/style/face.h"
#include "viz/style/shade_style.h"

namespace ringscope::viz {
namespace {

constexpr double kOverviewLabels = 96, kOverviewRight = 20, kLeastStep = 3;

QRectF boxOf(const QRectF& area) {
  return {area.left() + kOverviewLabels, area.top() + 4,
          area.width() - kOverviewLabels - kOverviewRight, area.height() - 12};
}

/// From the left: work, waits, sync, verification.
constexpr Shade kOrder[] = {Shade::kCompute, Shade::kWait, Shade::kSync, Shade::kVerify};

double shareOf(const StepTrack& step, Shade shade) {
  const auto busy = [&](Shade s) {
    return static_cast<double>(step.busy_ns[static_cast<std::size_t>(s)]);
  };
  double sum = 0;
  for (std::size_t i = 0; i < kShades; ++i)
    if (static_cast<Shade>(i) != Shade::kPause) sum += static_cast<double>(step.busy_ns[i]);
  if (sum <= 0) return shade == Shade::kCompute ? 1 : 0;
  const double part = shade == Shade::kCompute ? busy(Shade::kAttend) + busy(Shade::kMerge) +
                                                     busy(Shade::kCompute) + busy(Shade::kLoss)
                                               : busy(shade);
  return part / sum;
}

void paintStep(QPainter& p, const QRectF& box, const StepTrack& step, const Theme& theme) {
  double x = box.left();
  for (const Shade shade : kOrder) {
    const QRectF part(x, box.top(), box.width() * shareOf(step, shade), box.height());
    x = part.right();
    if (shade == Shade::kWait) {
      p.fillRect(part, theme.background);
      p.fillRect(part, QBrush(theme.wait, Qt::BDiagPattern));
    } else {
      QColor color = shadeColor(shade, theme);
      color.setAlpha(200);
      p.fillRect(part, color);
    }
  }
  p.setFont(textFont(10, QFont::DemiBold));
  const QString name = QString("step %1").arg(step.train_step);
  if (p.fontMetrics().horizontalAdvance(name) + 12 > box.width()) return;
  const QRectF plate(box.left() + 3, box.center().y() - 7,
                     p.fontMetrics().horizontalAdvance(name) + 8, 14);
  QColor ground = theme.background;
  ground.setAlpha(200);
  p.setPen(Qt::NoPen);
  p.setBrush(ground);
  p.drawRoundedRect(plate, 3, 3);
  p.setPen(theme.text);
  p.drawText(plate, Qt::AlignCenter, name);
}

/// Steps that share pixels, as the mean of those in each.
void paintColumns(QPainter& p, const QRectF& box, const WindowScale& scale, const Tracks& tracks,
                  const Theme& theme) {
  const auto width = static_cast<std::size_t>(std::max(1.0, box.width()));
  std::vector<std::array<double, std::size(kOrder)>> columns(width);
  std::vector<int> counts(width, 0);
  for (const StepTrack& step : tracks.steps) {
    const double x = scale.x(static_cast<double>(step.begin_ns)) - box.left();
    const auto at = static_cast<std::size_t>(std::clamp(x, 0.0, static_cast<double>(width - 1)));
    for (std::size_t i = 0; i < std::size(kOrder); ++i) columns[at][i] += shareOf(step, kOrder[i]);
    ++counts[at];
  }
  std::size_t last = width;  // a step reaches to the next one
  for (std::size_t x = 0; x < width; ++x) {
    if (counts[x] > 0) last = x;
    if (last == width) continue;
    double y = box.bottom();
    for (std::size_t i = 0; i < std::size(kOrder); ++i) {
      const double height = box.height() * columns[last][i] / counts[last];
      y -= height;
      QColor color = shadeColor(kOrder[i], theme);
      color.setAlpha(200);
      p.fillRect(QRectF(box.left() + static_cast<double>(x), y, 1, height), color);
    }
  }
}

struct LegendItem {
  enum class Look { kFace, kFill, kHollow, kHatch, kFrame, kLine } look;
  Shade shade;
  const char* words;
};
constexpr LegendItem kItems[] = {
    {LegendItem::Look::kFace, Shade::kAttend, "attention, by the block's owner"},
    {LegendItem::Look::kFill, Shade::kMerge, "merge"},
    {LegendItem::Look::kFill, Shade::kMessage, "KV under way"},
    {LegendItem::Look::kHollow, Shade::kMessage, "dKV under way"},
    {LegendItem::Look::kHatch, Shade::kWait, "waits: exposed communication"},
    {LegendItem::Look::kFill, Shade::kCompute, "other compute"},
    {LegendItem::Look::kFill, Shade::kLoss, "loss"},
    {LegendItem::Look::kFill, Shade::kSync, "gradient sync, clip, optimizer"},
    {LegendItem::Look::kFill, Shade::kVerify, "verification"},
    {LegendItem::Look::kFrame, Shade::kPause, "paused"},
    {LegendItem::Look::kLine, Shade::kCompute, "critical path"},
};
constexpr double kLegendRow = 20, kSwatch = 16, kLegendGap = 18;

/// Calls `take(item, top left)` and returns the height of all.
template <typename Take>
double layLegend(double width, Take take) {
  const QFontMetricsF metrics(textFont(11));
  double x = kOverviewLabels, y = 0;
  for (const LegendItem& item : kItems) {
    const double needs = kSwatch + 6 + metrics.horizontalAdvance(item.words);
    if (x + needs > width - kOverviewRight && x > kOverviewLabels) {
      x = kOverviewLabels;
      y += kLegendRow;
    }
    take(item, QPointF(x, y));
    x += needs + kLegendGap;
  }
  return y + kLegendRow;
}

void paintSwatch(QPainter& p, const QRectF& box, const LegendItem& item, const Theme& theme) {
  const auto rank = WorldRank::of(1);
  const bool message = item.shade == Shade::kMessage;
  const QColor color = message ? rankColor(rank) : shadeColor(item.shade, theme);
  p.setBrushOrigin(box.topLeft());
  switch (item.look) {
    case LegendItem::Look::kFace:
      return p.fillRect(box, rankBrush(rank));
    case LegendItem::Look::kFill:
      return p.fillRect(message ? box.adjusted(0, 3, 0, -3) : box, color);
    case LegendItem::Look::kLine:
      return p.fillRect(QRectF(box.left(), box.center().y() - 1.5, box.width(), 3), theme.wrong);
    case LegendItem::Look::kHatch:
      p.fillRect(box, QBrush(color, Qt::BDiagPattern));
      break;
    case LegendItem::Look::kFrame:
      p.fillRect(box, theme.raised);
      break;
    default:
      break;
  }
  p.setPen(QPen(color, 1));
  p.setBrush(Qt::NoBrush);
  p.drawRect((item.look == LegendItem::Look::kHollow ? box.adjusted(0, 3, 0, -3) : box)
                 .adjusted(0.5, 0.5, -0.5, -0.5));
}

}  // namespace

WindowScale overviewScale(const QRectF& area, const ChartScene& scene) {
  const QRectF box = boxOf(area);
  TimeWindow all{0, 1};
  if (!scene.empty()) all = scene.tracks->all();
  return {all, box.left(), box.width()};
}

void paintOverview(QPainter& p, const QRectF& area, const ChartScene& scene, const Theme& theme) {
  const QRectF box = boxOf(area);
  p.save();
  write(p, QRectF(area.left() + 20, box.top(), kOverviewLabels - 24, box.height()),
        scene.model                            ? "STEP"
        : scene.empty() || scene.tracks->whole ? "RUN"
                                               : "NEAR",
        partFont(), theme.dim);
  p.fillRect(box, theme.background);
  if (!scene.empty()) {
    const WindowScale scale = overviewScale(area, scene);
    const double mean = box.width() / static_cast<double>(scene.tracks->steps.size());
    p.setClipRect(box);
    if (mean < kLeastStep) {
      paintColumns(p, box, scale, *scene.tracks, theme);
    } else {
      for (const StepTrack& step : scene.tracks->steps) {
        const double left = scale.x(static_cast<double>(step.begin_ns));
        const double right = scale.x(static_cast<double>(step.end_ns));
        paintStep(p, QRectF(left, box.top() + 2, std::max(1.0, right - left - 1), box.height() - 4),
                  step, theme);
      }
    }
  }
  p.restore();
}

void paintOverviewWindow(QPainter& p, const QRectF& area, const ChartScene& scene,
                         const Theme& theme) {
  if (scene.empty()) return;
  const QRectF box = boxOf(area);
  const WindowScale scale = overviewScale(area, scene);
  const double left = std::clamp(scale.x(scene.window.begin_ns), box.left(), box.right() - 3);
  const double right = std::clamp(scale.x(scene.window.end_ns), left + 3, box.right());
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(theme.accent, 2));
  p.drawRoundedRect(QRectF(left, box.top(), right - left, box.height()).adjusted(-1, -1, 1, 1), 3,
                    3);
}

double legendHeight(double width) {
  return layLegend(width, [](const LegendItem&, const QPointF&) {});
}

void paintLegend(QPainter& p, const QRectF& area, const Theme& theme) {
  layLegend(area.width(), [&](const LegendItem& item, const QPointF& at) {
    const QPointF corner = area.topLeft() + at;
    paintSwatch(p, QRectF(corner.x(), corner.y() + 3, kSwatch, 12), item, theme);
    p.setFont(textFont(11));
    p.setPen(theme.dim);
    p.drawText(QPointF(corner.x() + kSwatch + 6, corner.y() + 13), item.words);
  });
}

}  // namespace ringscope::viz
