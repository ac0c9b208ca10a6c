// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/memory/memory_painter.h"

#include <QAreaSeries>
#include <QChart>
#include <QGraphicsScene>
#include <QLineSeries>
#include <QScatterSeries>
#include <QValueAxis>
#include <cmath>
#include <memory>

#include "viz/kit/page.h"
#include "viz/maths/round_ticks.h"
#include "viz/scene/units.h"
#include "viz/style/category_style.h"

namespace ringscope::viz {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kMemoryHead = 76, kLegend = 56;  // heights
constexpr int kMostRanks = 16;

/// A chart, its axes, and what is drawn in it.
class Plot {
 public:
  Plot(const QString& title, const Theme& theme)
      : title_(title), theme_(theme), chart_(new QChart) {
    chart_->setBackgroundBrush(theme.background);
    chart_->setBackgroundRoundness(0);
    chart_->setMargins(QMargins(4, 4, 4, 4));
    chart_->legend()->hide();  // it cuts its words short; drawLegends() has room for them
  }
  /// With about so many labels, at round numbers.
  void axis(Qt::Alignment side, const QString& title, double low, double high, int labels) {
    auto* a = new QValueAxis(chart_.get());
    const double between = roundInterval((high - low) / labels);
    // With some room above the highest label, which would not be drawn at the very top.
    const bool upright = side == Qt::AlignLeft;
    a->setRange(low, upright ? std::ceil(high / between) * between * 1.04 : high);
    a->setTickType(QValueAxis::TicksDynamic);
    a->setTickAnchor(0);
    a->setTickInterval(between);
    a->setLabelFormat(QString("%.%1f").arg(
        std::max(0, static_cast<int>(std::ceil(-std::log10(between) - 1e-9)))));
    a->setTitleText(title);
    a->setTitleFont(textFont(12));
    a->setTitleBrush(theme_.dim);
    a->setLabelsFont(monoFont(11));
    a->setLabelsColor(theme_.dim);
    a->setGridLineColor(theme_.line);
    a->setLinePenColor(theme_.line);
    chart_->addAxis(a, side);
  }
  void add(QAbstractSeries* series) {
    chart_->addSeries(series);
    for (auto* a : chart_->axes()) series->attachAxis(a);
  }
  /// A line that bounds an area. An area does not own its lines, so the chart does.
  QLineSeries* bound() { return new QLineSeries(chart_.get()); }
  void point(double x, double y, double size) {
    auto* series = new QScatterSeries;
    series->append(x, y);
    series->setColor(theme_.accent);
    series->setBorderColor(theme_.text);
    series->setMarkerSize(size);
    add(series);
  }
  /// `plot`: where the values lie within `box`.
  void draw(QPainter& p, const QRectF& box, const QRectF& plot) {
    chart_->setPlotArea(plot.translated(-box.topLeft()));
    chart_->resize(box.size());  // lays out the axes round the plot
    QGraphicsScene scene;
    scene.addItem(chart_.get());
    scene.render(&p, box, QRectF(QPointF(0, 0), box.size()));
    scene.removeItem(chart_.get());
    write(p, QRectF(plot.left(), box.top(), plot.width(), plot.top() - box.top()), title_,
          textFont(13, QFont::DemiBold), theme_.text, Qt::AlignCenter);
  }

 private:
  QString title_;
  const Theme& theme_;
  std::unique_ptr<QChart> chart_;
};

/// The boxes of both charts, with their titles and labels.
MemoryAreas chartBoxes(const QRectF& area) {
  const QRectF row = area.adjusted(8, kMemoryHead, -8, -kLegend);
  const double split = (row.width() - 6) * 0.6;
  return {QRectF(row.left(), row.top(), split, row.height()),
          QRectF(row.left() + split + 6, row.top(), row.width() - split - 6, row.height())};
}

double topOf(const MemoryScene& scene) {
  return 1.08 * static_cast<double>(scene.peak.bytes) / kMiB;
}

void drawOverTime(QPainter& p, const QRectF& area, const MemoryScene& scene, const Theme& theme) {
  Plot plot("Over the run", theme);
  const auto milliseconds = [&](std::int64_t ns) {
    return static_cast<double>(scene.series.pauses.folded(ns)) * 1e-6;
  };
  const double end_ms = milliseconds(scene.end_ns);
  plot.axis(Qt::AlignBottom,
            scene.series.pauses.empty() ? "ms since the run began"
                                        : "ms since the run began, without pauses",
            0, end_ms, 6);
  plot.axis(Qt::AlignLeft, "MiB", 0, topOf(scene), 5);
  const std::size_t columns = scene.series.columns.size();
  std::vector<double> base(columns, 0);
  QLineSeries* lower = nullptr;
  for (const CategoryStyle& style : kCategoryStyles) {
    auto* upper = plot.bound();
    for (std::size_t c = 0; c < columns; ++c) {
      const auto category = static_cast<std::size_t>(style.category);
      base[c] += static_cast<double>(scene.series.columns[c][category]) / kMiB;
      upper->append(end_ms * (static_cast<double>(c) + 0.5) / static_cast<double>(columns),
                    base[c]);
    }
    auto* stretch = new QAreaSeries(upper, lower);
    stretch->setColor(QColor(style.color));
    stretch->setPen(Qt::NoPen);
    plot.add(stretch);
    lower = upper;
  }
  plot.point(milliseconds(scene.peak.time_ns), static_cast<double>(scene.peak.bytes) / kMiB, 10);
  plot.draw(p, chartBoxes(area).over_time, memoryAreas(area).over_time);
}

void drawLaw(QPainter& p, const QRectF& area, const MemoryScene& scene, const Theme& theme) {
  Plot plot("The law: L / P", theme);
  const MemoryLaw& law = scene.law;
  const int most = std::max(kMostRanks, law.ranks);
  plot.axis(Qt::AlignBottom, "ranks P", 1, most, 8);
  plot.axis(Qt::AlignLeft, "MiB a rank", 0, 1.1 * law.bytesAt(1) / kMiB, 5);
  auto line = [&](const QColor& color, Qt::PenStyle style, auto value) {
    auto* series = new QLineSeries;
    series->setPen(QPen(color, 2, style));
    for (double ranks = 1; ranks <= most; ranks += 0.25) series->append(ranks, value(ranks) / kMiB);
    plot.add(series);
  };
  line(theme.dim, Qt::DashLine, [&](double) { return law.bytesAt(1); });
  line(theme.accent, Qt::SolidLine, [&](double ranks) { return law.bytesAt(ranks); });
  line(theme.dim, Qt::DotLine, [&](double) { return law.replicated_bytes; });
  plot.point(law.ranks, static_cast<double>(scene.peak.bytes) / kMiB, 11);
  plot.draw(p, chartBoxes(area).law, memoryAreas(area).law);
}

/// A row of swatches or lines with their words; goes to the next row where there is no room.
class Legend {
 public:
  Legend(QPainter& painter, QPointF at, double right, const QColor& ink)
      : p_(painter), at_(at), left_(at.x()), right_(right), ink_(ink) {}
  void add(const QString& words, const QColor& color, Qt::PenStyle line) {
    p_.setFont(textFont(12));
    const double w = p_.fontMetrics().horizontalAdvance(words) + 24;
    if (at_.x() + w > right_) at_ = {left_, at_.y() + 20};
    if (line == Qt::NoPen) {
      p_.fillRect(QRectF(at_.x(), at_.y() + 5, 9, 9), color);
    } else {
      p_.setPen(QPen(color, 2, line));
      p_.drawLine(at_ + QPointF(-6, 10), at_ + QPointF(10, 10));
    }
    p_.setPen(ink_);
    p_.drawText(QRectF(at_.x() + 15, at_.y(), w, 20), Qt::AlignVCenter, words);
    at_.rx() += w + 10;
  }

 private:
  QPainter& p_;
  QPointF at_;
  double left_, right_;
  QColor ink_;
};

void drawLegends(QPainter& p, const QRectF& area, const Theme& theme) {
  const double top = area.bottom() - kLegend + 6, split = area.left() + area.width() * 0.6;
  Legend categories(p, {area.left() + 64, top}, split - 16, theme.dim);
  for (const CategoryStyle& style : kCategoryStyles)
    categories.add(style.title, QColor(style.color), Qt::NoPen);
  Legend law(p, {split + 56, top}, area.right() - 8, theme.dim);
  law.add("sharded over P", theme.accent, Qt::SolidLine);
  law.add("unsharded", theme.dim, Qt::DashLine);
  law.add("kept whole by each", theme.dim, Qt::DotLine);
}

void drawHead(QPainter& p, const QRectF& area, const MemoryScene& scene, const Theme& theme) {
  paintTitle(p, titleLine(area),
             QString("rank %1 holds at most %2%3")
                 .arg(scene.rank.value())
                 .arg(describeBytes(scene.peak.bytes).c_str(),
                      scene.unseen.empty() ? "" : " that was seen"),
             theme.text);
  QString words = "At the peak: " + text(scene.peak.cause) +
                  ". Click the chart to go to a moment."
                  " Verification and captured copies are not counted.";
  if (!scene.unseen.empty()) words += " " + text(scene.unseen);
  paintLead(p, area, words, theme);
}

}  // namespace

MemoryAreas memoryAreas(const QRectF& area) {
  const MemoryAreas boxes = chartBoxes(area);
  return {boxes.over_time.adjusted(64, 38, -22, -52), boxes.law.adjusted(64, 38, -22, -52)};
}

void paintMemory(QPainter& p, const QRectF& area, const MemoryScene& scene, const Theme& theme) {
  p.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(p, area, scene.note, theme);
  drawHead(p, area, scene, theme);
  drawOverTime(p, area, scene, theme);
  drawLaw(p, area, scene, theme);
  drawLegends(p, area, theme);
}

void paintMemoryInstant(QPainter& p, const QRectF& area, const MemoryScene& scene,
                        std::int64_t instant_ns, const Theme& theme) {
  if (!scene.note.empty() || scene.end_ns <= 0) return;
  const QRectF plot = memoryAreas(area).over_time;
  const double x = plot.left() + plot.width() * scene.series.fraction(instant_ns, scene.end_ns);
  p.setPen(QPen(theme.text, 1.5));
  p.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
}

std::optional<std::int64_t> memoryHit(const QPointF& point, const QRectF& area,
                                      const MemoryScene& scene) {
  const QRectF plot = memoryAreas(area).over_time;
  if (!scene.note.empty() || !plot.contains(point)) return std::nullopt;
  return scene.series.instantAt((point.x() - plot.left()) / plot.width(), scene.end_ns);
}

}  // namespace ringscope::viz
