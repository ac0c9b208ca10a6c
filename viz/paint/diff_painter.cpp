// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/paint/diff_painter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "viz/paint/error_map_painter.h"
#include "viz/paint/page.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr double kMargin = 24, kTop = 14, kTitle = 26, kHeads = 20, kGap = 12;

struct UnitName {
  ErrorUnit unit;
  const char* name;
};
constexpr UnitName kUnits[] = {{ErrorUnit::kLimit, "limit"},
                               {ErrorUnit::kAbsolute, "absolute"},
                               {ErrorUnit::kRelative, "relative"},
                               {ErrorUnit::kUlp, "ULP"}};

/// Where the parts of the drawing lie; both painting and hit testing ask it.
class Layout {
 public:
  Layout(const QRectF& area, const DiffScene& scene) : area_(area), scene_(scene) {}

  bool wide() const { return area_.width() > 1000; }
  double width() const { return wide() ? area_.width() * 0.52 : area_.width(); }  ///< of tables
  double tableTop(std::size_t table) const {
    double y = area_.top() + kTop;
    for (std::size_t t = 0; t < table; ++t)
      y += kTitle + kHeads + rowHeight() * static_cast<double>(scene_.tables[t].layers.size()) +
           kGap;
    return y;
  }
  double rowHeight() const {
    const auto layers = scene_.tables.empty() ? 0 : scene_.tables.front().layers.size();
    return std::clamp(
        (area_.height() - 260) / static_cast<double>(2 * std::max<std::size_t>(1, layers)), 20.0,
        34.0);
  }
  double pitch(const DiffTable& table) const {
    return std::min(110.0, (width() - kLeft - kMargin) / static_cast<double>(table.tensors.size()));
  }
  double columnLeft(const DiffTable& table, std::size_t column) const {
    return area_.left() + kLeft + static_cast<double>(column) * pitch(table);
  }
  QRectF cell(std::size_t table, std::size_t layer, std::size_t column) const {
    const DiffTable& t = scene_.tables[table];
    return {columnLeft(t, column),
            tableTop(table) + kTitle + kHeads + static_cast<double>(layer) * rowHeight(),
            pitch(t) - 4, rowHeight() - 4};
  }
  /// The error map with its title.
  QRectF map() const {
    if (wide())
      return {area_.left() + width() + 16, area_.top() + kTop, area_.width() - width() - 40,
              area_.height() - 2 * kTop};
    const double top = tableTop(scene_.tables.size());
    return {area_.left() + kMargin, top, area_.width() - 2 * kMargin, area_.bottom() - top - 8};
  }
  std::array<QRectF, std::size(kUnits)> units() const {
    std::array<QRectF, std::size(kUnits)> boxes;
    const QFontMetricsF metrics(textFont(12));
    double x = map().right();
    for (std::size_t u = std::size(kUnits); u-- > 0;) {
      const double w = std::round(metrics.horizontalAdvance(kUnits[u].name)) + 18;
      boxes[u] = QRectF(x - w, map().top() - 1, w, 24);
      x -= w + 4;
    }
    return boxes;
  }

 private:
  static constexpr double kLeft = 92;
  QRectF area_;
  const DiffScene& scene_;
};

void drawTitle(QPainter& p, const QRectF& row, const QString& head, const QString& words,
               const Theme& theme) {
  p.setFont(textFont(15, QFont::DemiBold));
  p.setPen(theme.text);
  p.drawText(row, Qt::AlignVCenter, head);
  const double shift = p.fontMetrics().horizontalAdvance(head) + 12;
  p.setFont(textFont(12));
  p.setPen(theme.dim);
  p.drawText(
      row.adjusted(shift, 1, 0, 1), Qt::AlignVCenter,
      p.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(row.width() - shift)));
}

void drawCell(QPainter& p, const QRectF& box, const DiffCell& cell, const Theme& theme) {
  p.setPen(cell.chosen  ? QPen(theme.accent, 2)
           : cell.wrong ? QPen(theme.wrong, 1.5)
                        : QPen(theme.line, 1));
  p.setBrush(theme.raised);
  p.drawRoundedRect(box, 4, 4);
  p.setPen(cell.wrong ? theme.wrong : theme.right);
  p.setFont(monoFont(12, cell.wrong ? QFont::Bold : QFont::Normal));
  p.drawText(box, Qt::AlignCenter, QString::fromStdString(cell.words));
}

void drawTable(QPainter& p, const QRectF& area, const Layout& layout, std::size_t at,
               const DiffTable& table, const Theme& theme) {
  const double left = area.left() + kMargin, top = layout.tableTop(at);
  drawTitle(p, QRectF(left, top, layout.width() - 2 * kMargin, 22),
            QString::fromStdString(table.title), QString::fromStdString(table.note), theme);
  p.setFont(monoFont(12));
  p.setPen(theme.dim);
  for (std::size_t c = 0; c < table.tensors.size(); ++c)
    p.drawText(QRectF(layout.columnLeft(table, c), top + kTitle, layout.pitch(table) - 4, 18),
               Qt::AlignCenter, QString::fromStdString(table.tensors[c]));
  for (std::size_t layer = 0; layer < table.layers.size(); ++layer) {
    const QRectF first = layout.cell(at, layer, 0);
    p.setPen(theme.dim);
    p.setFont(textFont(12));
    p.drawText(QRectF(left, first.top(), 64, first.height()), Qt::AlignVCenter,
               QString("layer %1").arg(layer));
    for (std::size_t c = 0; c < table.tensors.size(); ++c)
      if (const auto& cell = table.layers[layer][c])
        drawCell(p, layout.cell(at, layer, c), *cell, theme);
  }
}

void drawRest(QPainter& p, const QRectF& area, const Layout& layout,
              const std::vector<DiffRow>& rows, double y, const Theme& theme) {
  const double left = area.left() + kMargin, width = layout.width() - 2 * kMargin;
  drawTitle(p, QRectF(left, y, width, 22), "Loss and gradients of parameters", "worst first",
            theme);
  y += 28;
  for (const DiffRow& diff : rows) {
    if (y + 20 > area.bottom()) return;
    const QRectF row(left, y, width, 20);
    p.setFont(textFont(12));
    p.setPen(theme.text);
    p.drawText(row, Qt::AlignVCenter, QString::fromStdString(diff.tensor));
    p.setFont(monoFont(12));
    p.setPen(theme.dim);
    p.drawText(row.adjusted(0, 0, -96, 0), Qt::AlignVCenter | Qt::AlignRight,
               QString("error %1  limit %2").arg(diff.error, 0, 'e', 1).arg(diff.limit, 0, 'e', 1));
    p.setPen(diff.wrong ? theme.wrong : theme.right);
    p.drawText(row, Qt::AlignVCenter | Qt::AlignRight, QString::fromStdString(diff.words));
    y += 20;
  }
}

void drawUnits(QPainter& p, const Layout& layout, ErrorUnit chosen, const Theme& theme) {
  p.setFont(textFont(12));
  const auto boxes = layout.units();
  for (std::size_t u = 0; u < boxes.size(); ++u) {
    const bool on = kUnits[u].unit == chosen;
    p.setPen(QPen(on ? theme.accent : theme.line, 1));
    p.setBrush(on ? theme.accent : theme.raised);
    p.drawRoundedRect(boxes[u], 6, 6);
    p.setPen(on ? theme.on_accent : theme.text);
    p.drawText(boxes[u], Qt::AlignCenter, kUnits[u].name);
  }
}

/// Where in the chosen tensor of the viewed layer the error lies.
void drawMap(QPainter& p, const Layout& layout, const DiffScene& scene, const Theme& theme) {
  const QRectF area = layout.map();
  p.setFont(textFont(15, QFont::DemiBold));
  p.setPen(theme.text);
  p.drawText(QRectF(area.left(), area.top(), area.width(), 22), Qt::AlignVCenter,
             QString::fromStdString(scene.map_title));
  drawUnits(p, layout, scene.unit, theme);
  const QRectF rest = area.adjusted(0, 30, 0, 0);
  if (!scene.map.missing.empty())
    return paintNote(p, rest, "Not recorded; " + scene.map.missing + " would show it.", theme);
  const double histogram = std::min(120.0, rest.height() * 0.34);
  paintErrorMap(p, rest.adjusted(0, 0, 0, -histogram - 8), scene.map, scene.unit, theme);
  paintErrorHistogram(p, QRectF(rest.left(), rest.bottom() - histogram, rest.width(), histogram),
                      scene.map, scene.unit, theme);
}

}  // namespace

void paintDiff(QPainter& p, const QRectF& area, const DiffScene& scene, const Theme& theme) {
  p.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(p, area, scene.note, theme);
  const Layout layout(area, scene);
  for (std::size_t t = 0; t < scene.tables.size(); ++t)
    drawTable(p, area, layout, t, scene.tables[t], theme);
  if (layout.wide())
    drawRest(p, area, layout, scene.rest, layout.tableTop(scene.tables.size()), theme);
  drawMap(p, layout, scene, theme);
}

DiffHit diffHit(const QPointF& point, const QRectF& area, const DiffScene& scene) {
  if (!scene.note.empty()) return {};
  const Layout layout(area, scene);
  for (std::size_t t = 0; t < scene.tables.size(); ++t)
    for (std::size_t layer = 0; layer < scene.tables[t].layers.size(); ++layer)
      for (std::size_t c = 0; c < scene.tables[t].tensors.size(); ++c)
        if (const auto& cell = scene.tables[t].layers[layer][c];
            cell && layout.cell(t, layer, c).contains(point))
          return {cell, std::nullopt};
  const auto boxes = layout.units();
  for (std::size_t u = 0; u < boxes.size(); ++u)
    if (boxes[u].contains(point)) return {std::nullopt, kUnits[u].unit};
  return {};
}

}  // namespace ringscope::viz
