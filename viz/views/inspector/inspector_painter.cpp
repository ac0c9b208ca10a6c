// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/inspector/inspector_painter.h"

#include <algorithm>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/category_style.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr double kInspectorMargin = 20;

/// Text and drawings from top to bottom.
class InspectorPage {
 public:
  InspectorPage(QPainter& painter, const QRectF& area, const Theme& t)
      : p(painter), theme(t), y(area.top() + 18), left_(area.left()), width_(area.width()) {}
  QPainter& p;
  const Theme& theme;
  double y;

  QRectF row(double height) {
    const QRectF r(left_ + kInspectorMargin, y, width_ - 2 * kInspectorMargin, height);
    y += height;
    return r;
  }
  void gap(double height) { y += height; }
  void section(const QString& title) { text(title, partFont(), theme.dim, 24); }
  void text(const QString& words, const QFont& font, const QColor& color, double height) {
    write(p, row(height), words, font, color, Qt::AlignVCenter | Qt::AlignLeft);
  }
  void wrapped(const QString& words, const QFont& font, const QColor& color) {
    p.setFont(font);
    const QRectF space(left_ + kInspectorMargin, y, width_ - 2 * kInspectorMargin, 2000);
    QRectF used = p.boundingRect(space, Qt::TextWordWrap, words);
    p.setPen(color);
    p.drawText(used, Qt::TextWordWrap, words);
    y += used.height() + 4;
  }
  void pair(const QString& name, const QString& value, const QColor& color) {
    const QRectF r = row(22);
    write(p, r, value, monoFont(12), color, Qt::AlignVCenter | Qt::AlignRight);
    const double room = r.width() - p.fontMetrics().horizontalAdvance(value) - 10;
    p.setFont(textFont(12));
    p.setPen(theme.dim);
    p.drawText(r, Qt::AlignVCenter | Qt::AlignLeft,
               p.fontMetrics().elidedText(name, Qt::ElideMiddle, static_cast<int>(room)));
  }
  /// The same in two lines where one has no room for both.
  void fact(const QString& name, const QString& value, const QColor& color) {
    const double room = width_ - 2 * kInspectorMargin - 10;
    const double words = QFontMetricsF(textFont(12)).horizontalAdvance(name) +
                         QFontMetricsF(monoFont(12)).horizontalAdvance(value);
    if (words <= room) return pair(name, value, color);
    wrapped(name, textFont(12), theme.dim);
    y -= 6;
    pair("", value, color);
  }

 private:
  double left_, width_;
};

void drawRank(InspectorPage& page, const InspectorScene& scene) {
  page.wrapped(text(scene.title), textFont(17, QFont::DemiBold), page.theme.text);
  page.wrapped(text(scene.attending), textFont(12), page.theme.dim);
  if (scene.known) {
    page.pair("attends for", describeDuration(scene.attend_ns).c_str(), page.theme.text);
    page.pair("waits for KV", describeDuration(scene.wait_ns).c_str(),
              scene.waitsLong() ? page.theme.wait : page.theme.text);
  }
  if (scene.sums_wait_ns > 0)
    page.pair("waits for dK and dV", describeDuration(scene.sums_wait_ns).c_str(), page.theme.text);
  page.gap(10);
}

void drawLseLine(InspectorPage& page, const LseLine& line) {
  QPainter& p = page.p;
  const QRectF r = page.row(31);
  write(p, r, QString("step %1").arg(line.ring_step.value()), monoFont(12), page.theme.dim,
        Qt::AlignVCenter | Qt::AlignLeft);
  if (line.source_rank.exists())
    paintFace(p, QRectF(r.left() + 62, r.top() + 3, 66, 24), line.source_rank,
              QString("KV %1").arg(line.source_rank.value()), page.theme);
  if (!line.mean) {
    write(p, r.adjusted(140, 0, 0, 0), text(line.words), textFont(12), page.theme.dim,
          Qt::AlignVCenter | Qt::AlignLeft);
    return;
  }
  const QRectF track(r.left() + 140, r.top() + 8, r.width() - 140 - 56, 15);
  p.setPen(Qt::NoPen);
  p.setBrush(page.theme.raised);
  p.drawRoundedRect(track, 3, 3);
  p.setBrush(line.source_rank.exists() ? rankBrush(line.source_rank) : QBrush(page.theme.accent));
  p.drawRoundedRect(QRectF(track.left(), track.top(),
                           track.width() * std::clamp(line.share, 0.02, 1.0), track.height()),
                    3, 3);
  write(p, r, QString::number(*line.mean, 'f', 2), monoFont(12), page.theme.text,
        Qt::AlignVCenter | Qt::AlignRight);
}

void drawLse(InspectorPage& page, const InspectorScene& scene) {
  page.section("LOG-SUM-EXP BY BLOCK, MEAN OF ITS ROWS");
  for (const LseLine& line : scene.lse) drawLseLine(page, line);
  if (!scene.lse_note.empty()) page.wrapped(text(scene.lse_note), textFont(12), page.theme.dim);
  if (scene.running_lse.known())
    page.pair(QString("running lse, over %L1 rows").arg(scene.running_lse.rows),
              QString::number(scene.running_lse.mean, 'f', 2), page.theme.text);
  page.gap(10);
}

/// Bytes by category, one upon the other.
void drawStack(QPainter& p, const QRectF& chart, const MemorySeries& memory) {
  const std::size_t columns = memory.columns.size();
  const double scale = chart.height() / (1.08 * static_cast<double>(memory.peak_bytes));
  const double pitch = chart.width() / static_cast<double>(columns);
  std::vector<double> base(columns, chart.bottom());
  p.setPen(Qt::NoPen);
  for (const CategoryStyle& style : kCategoryStyles) {
    QPolygonF area;
    std::vector<double> top = base;
    for (std::size_t c = 0; c < columns; ++c) {
      const auto category = static_cast<std::size_t>(style.category);
      top[c] -= static_cast<double>(memory.columns[c][category]) * scale;
      area << QPointF(chart.left() + static_cast<double>(c) * pitch, top[c]);
    }
    for (std::size_t c = columns; c-- > 0;)
      area << QPointF(chart.left() + static_cast<double>(c) * pitch, base[c]);
    p.setBrush(QColor(style.color));
    p.drawPolygon(area);
    base = std::move(top);
  }
}

void drawCategories(InspectorPage& page) {
  int item = 0;
  QRectF legend;
  for (const CategoryStyle& style : kCategoryStyles) {
    if (item % 3 == 0) legend = page.row(18);
    const double left = legend.left() + legend.width() / 3 * (item++ % 3);
    page.p.fillRect(QRectF(left, legend.top() + 5, 8, 8), QColor(style.color));
    write(page.p, QRectF(left + 13, legend.top(), 90, 18), style.title, textFont(11),
          page.theme.dim);
  }
}

void drawMemory(InspectorPage& page, const InspectorScene& scene, std::int64_t instant_ns) {
  page.section(QString("MEMORY, RANK %1").arg(scene.rank.value()));
  const MemorySeries& memory = *scene.memory;
  if (memory.peak_bytes == 0) return page.text("not recorded", textFont(12), page.theme.dim, 22);
  const QRectF chart = page.row(92);
  drawStack(page.p, chart, memory);
  const double x = chart.left() + chart.width() * memory.fraction(instant_ns, scene.end_ns);
  page.p.setPen(QPen(page.theme.text, 1.5));
  page.p.drawLine(QPointF(x, chart.top()), QPointF(x, chart.bottom()));
  page.gap(6);
  drawCategories(page);
  page.pair("peak", describeBytes(memory.peak_bytes).c_str(), page.theme.text);
  page.gap(10);
}

void drawDiff(InspectorPage& page, const InspectorScene& scene) {
  page.section("AGAINST UNSHARDED ATTENTION");
  if (scene.worst.empty()) {
    page.wrapped(text("not recorded; " + scene.worst_advice), textFont(12), page.theme.dim);
    return page.gap(8);
  }
  for (const WorstLine& line : scene.worst)
    page.fact(text(line.words), text(line.multiple),
              line.wrong ? page.theme.wrong : page.theme.right);
  page.gap(10);
}

void drawDoctor(InspectorPage& page, const InspectorScene& scene) {
  page.section("DOCTOR");
  if (!scene.doctor.empty()) return page.wrapped(text(scene.doctor), textFont(12), page.theme.dim);
  if (!scene.doctor_headline.empty())
    page.wrapped(text(scene.doctor_headline), textFont(14, QFont::DemiBold),
                 scene.doctor_clear ? page.theme.right : page.theme.wait);
  for (const InspectedFinding& finding : scene.findings) {
    page.wrapped("▲ " + text(finding.title), textFont(14, QFont::DemiBold), page.theme.wrong);
    page.wrapped(text(finding.source), textFont(11), page.theme.dim);
    page.wrapped(text(finding.evidence), textFont(12), page.theme.text);
    page.wrapped("What to change: " + text(finding.remedy), textFont(12), page.theme.text);
    page.gap(6);
  }
  page.wrapped(QString("%1 clear · %2 not observable in this recording")
                   .arg(traces::describeCount(scene.clear, "rule").c_str())
                   .arg(scene.not_observable),
               textFont(12), page.theme.dim);
}

/// Returns where it ends.
double draw(QPainter& p, const QRectF& area, const InspectorScene& scene, std::int64_t instant_ns,
            const Theme& theme) {
  InspectorPage page(p, area, theme);
  page.section("INSPECTOR");
  if (!scene.note.empty()) {
    page.wrapped(text(scene.note), textFont(13), theme.dim);
    return page.y;
  }
  drawRank(page, scene);
  drawLse(page, scene);
  drawMemory(page, scene, instant_ns);
  drawDiff(page, scene);
  drawDoctor(page, scene);
  return page.y;
}

}  // namespace

double paintInspector(QPainter& painter, const QRectF& area, const InspectorScene& scene,
                      std::int64_t instant_ns, const Theme& theme) {
  painter.fillRect(area, theme.panel);
  return draw(painter, area, scene, instant_ns, theme) + 12 - area.top();
}

}  // namespace ringscope::viz
