// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/diff/diff_painter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/style/elide.h"
#include "viz/style/face.h"
#include "viz/views/diff/error_map_painter.h"

namespace ringscope::viz {
namespace {

constexpr double kDiffMargin = 24, kDiffTop = 14, kDiffTitle = 26, kDiffHeads = 20, kDiffGap = 12;
constexpr double kDiffLeastRow = 20, kRestRow = 20, kLeastRest = 190, kMostMap = 760;
constexpr double kValueWidth = 96;  // of "▲ 8,400×"

/// The layout of the page, for painting and hit testing.
class DiffLayout {
 public:
  DiffLayout(const QRectF& area, const DiffScene& scene) : area_(area), scene_(scene) {}

  bool wide() const { return area_.width() > 1180; }
  double width() const { return wide() ? area_.width() * 0.52 : area_.width(); }  ///< of tables
  double tablesBottom() const { return tableTop(scene_.tables.size()); }
  double tableTop(std::size_t table) const {
    double y = area_.top() + kDiffTop;
    for (std::size_t t = 0; t < table; ++t)
      y += kDiffTitle + kDiffHeads +
           rowHeight() * static_cast<double>(scene_.tables[t].layers.size()) + kDiffGap;
    return y;
  }
  double rowHeight() const {
    const auto layers = scene_.tables.empty() ? 0 : scene_.tables.front().layers.size();
    const double others = wide() ? 260 : 320;
    return std::clamp(
        (area_.height() - others) / static_cast<double>(2 * std::max<std::size_t>(1, layers)),
        kDiffLeastRow, 34.0);
  }
  double pitch(const DiffTable& table) const {
    return std::min(110.0,
                    (width() - kLeft - kDiffMargin) / static_cast<double>(table.tensors.size()));
  }
  double columnLeft(const DiffTable& table, std::size_t column) const {
    return area_.left() + kLeft + static_cast<double>(column) * pitch(table);
  }
  QRectF cell(std::size_t table, std::size_t layer, std::size_t column) const {
    const DiffTable& t = scene_.tables[table];
    return {columnLeft(t, column),
            tableTop(table) + kDiffTitle + kDiffHeads + static_cast<double>(layer) * rowHeight(),
            pitch(t) - 4, rowHeight() - 4};
  }
  /// Returns the box, under the tables, for tensors outside the layers.
  QRectF rest() const {
    const double room = width() - 2 * kDiffMargin, top = tablesBottom();
    return {area_.left() + kDiffMargin, top, wide() ? room : room * 0.42, area_.bottom() - top - 8};
  }
  /// The error map with its title: beside the tables, or else beside the rest.
  QRectF map() const {
    if (wide())
      return {area_.left() + width() + 16, area_.top() + kDiffTop, area_.width() - width() - 40,
              std::min(kMostMap, area_.height() - 2 * kDiffTop)};
    const QRectF beside = rest();
    const double left = beside.right() + kDiffMargin;
    return {left, beside.top(), area_.right() - kDiffMargin - left, beside.height()};
  }
  std::vector<UnitButton> units() const {
    std::vector<UnitButton> buttons = {{ErrorUnit::kLimit, "limit", {}},
                                       {ErrorUnit::kAbsolute, "absolute", {}},
                                       {ErrorUnit::kRelative, "relative", {}},
                                       {ErrorUnit::kUlp, "ULP", {}}};
    const QFontMetricsF metrics(textFont(12));
    double x = map().right();
    for (auto button = buttons.rbegin(); button != buttons.rend(); ++button) {
      const double w = std::round(metrics.horizontalAdvance(button->name)) + 18;
      button->box = QRectF(x - w, map().top() - 1, w, 24);
      x -= w + 4;
    }
    return buttons;
  }

 private:
  static constexpr double kLeft = 92;
  QRectF area_;
  const DiffScene& scene_;
};

QString elidedAt(const QPainter& p, const QString& words, double room,
                 Qt::TextElideMode mode = Qt::ElideRight) {
  return mode == Qt::ElideRight ? elided(p.fontMetrics(), words, room)
                                : p.fontMetrics().elidedText(words, mode, static_cast<int>(room));
}

/// The largest of some fonts in which the words fit.
QFont fitting(const QString& words, double room, QFont::Weight weight) {
  for (const int size : {12, 11, 10})
    if (QFontMetricsF(monoFont(size, weight)).horizontalAdvance(words) <= room)
      return monoFont(size, weight);
  return monoFont(9, weight);
}

void drawTitle(QPainter& p, const QRectF& row, const QString& head, const QString& words,
               const QColor& ink, const Theme& theme) {
  paintTitle(p, row, head, theme.text, 15);
  const double shift = p.fontMetrics().horizontalAdvance(head) + 12;
  writeElided(p, row.adjusted(shift, 1, 0, 1), words, textFont(12), ink);
}

void drawCell(QPainter& p, const QRectF& box, const DiffCell& cell, const Theme& theme) {
  p.setPen(cell.chosen  ? QPen(theme.accent, 2)
           : cell.wrong ? QPen(theme.wrong, 1.5)
                        : QPen(theme.line, 1));
  p.setBrush(theme.raised);
  p.drawRoundedRect(box, 4, 4);
  p.setPen(cell.wrong ? theme.wrong : theme.right);
  const QString words = text(cell.words);
  p.setFont(fitting(words, box.width() - 4, cell.wrong ? QFont::Bold : QFont::Normal));
  p.drawText(box, Qt::AlignCenter, words);
}

void drawTable(QPainter& p, const QRectF& area, const DiffLayout& layout, std::size_t at,
               const DiffTable& table, const Theme& theme) {
  const double left = area.left() + kDiffMargin, top = layout.tableTop(at);
  drawTitle(p, QRectF(left, top, layout.width() - 2 * kDiffMargin, 22), text(table.title),
            text(table.note), theme.dim, theme);
  p.setFont(monoFont(12));
  p.setPen(theme.dim);
  for (std::size_t c = 0; c < table.tensors.size(); ++c)
    p.drawText(QRectF(layout.columnLeft(table, c), top + kDiffTitle, layout.pitch(table) - 4, 18),
               Qt::AlignCenter, text(table.tensors[c]));
  for (std::size_t layer = 0; layer < table.layers.size(); ++layer) {
    const QRectF first = layout.cell(at, layer, 0);
    write(p, QRectF(left, first.top(), 64, first.height()), QString("layer %1").arg(layer),
          textFont(12), theme.dim);
    for (std::size_t c = 0; c < table.tensors.size(); ++c)
      if (const auto& cell = table.layers[layer][c])
        drawCell(p, layout.cell(at, layer, c), *cell, theme);
  }
}

QString numbersFrom(const DiffRow& diff) {
  return QString("error %1  limit %2").arg(diff.error, 0, 'e', 1).arg(diff.limit, 0, 'e', 1);
}

/// Errors and limits themselves are left out where names would have no room beside them.
bool hasRoomForNumbers(const std::vector<DiffRow>& rows, double width) {
  double longest = 0;
  for (const DiffRow& diff : rows)
    longest =
        std::max(longest, QFontMetricsF(textFont(12)).horizontalAdvance(text(diff.tensor)) +
                              QFontMetricsF(monoFont(12)).horizontalAdvance(numbersFrom(diff)));
  return longest + kValueWidth + 16 <= width;
}

void drawRestRow(QPainter& p, const QRectF& row, const DiffRow& diff, bool with_numbers,
                 const Theme& theme) {
  p.setFont(textFont(12));
  p.setPen(theme.text);
  const double room = row.width() - kValueWidth - 8;
  const QString name = text(diff.tensor);
  p.drawText(row, Qt::AlignVCenter, with_numbers ? name : elidedAt(p, name, room, Qt::ElideMiddle));
  p.setFont(monoFont(12));
  p.setPen(theme.dim);
  if (with_numbers)
    p.drawText(row.adjusted(0, 0, -kValueWidth, 0), Qt::AlignVCenter | Qt::AlignRight,
               numbersFrom(diff));
  p.setPen(diff.wrong ? theme.wrong : theme.right);
  p.drawText(row, Qt::AlignVCenter | Qt::AlignRight, text(diff.words));
}

/// As many rows as have room, and how many there are more.
void drawRest(QPainter& p, const DiffLayout& layout, const std::vector<DiffRow>& rows,
              const Theme& theme) {
  const QRectF box = layout.rest();
  const bool wrong = std::ranges::any_of(rows, &DiffRow::wrong);
  if (rows.empty())
    return drawTitle(p, QRectF(box.topLeft(), QSizeF(box.width(), 22)), "Outside the layers",
                     "not compared", theme.dim, theme);
  const bool one_line = layout.wide();
  drawTitle(p, QRectF(box.topLeft(), QSizeF(box.width(), 22)), "Outside the layers",
            one_line ? text(restVerdict(rows)) : QString(), wrong ? theme.wrong : theme.right,
            theme);
  double y = box.top() + 26;
  if (!one_line) {
    writeElided(p, QRectF(box.left(), y - 4, box.width(), kRestRow), text(restVerdict(rows)),
                textFont(12), wrong ? theme.wrong : theme.right);
    y += kRestRow - 2;
  }
  const bool with_numbers = hasRoomForNumbers(rows, box.width());
  const auto lines = std::max(1, static_cast<int>((box.bottom() - y) / kRestRow));
  const auto count = static_cast<int>(rows.size());
  const int shown = count <= lines ? count : lines - 1;
  for (int i = 0; i < shown; ++i, y += kRestRow)
    drawRestRow(p, QRectF(box.left(), y, box.width(), kRestRow), rows[static_cast<std::size_t>(i)],
                with_numbers, theme);
  if (shown == count) return;
  const auto hidden = std::count_if(rows.begin() + shown, rows.end(),
                                    [](const DiffRow& diff) { return diff.wrong; });
  write(p, QRectF(box.left(), y, box.width(), kRestRow),
        hidden
            ? QString("and %1 more, %2 of them ").arg(count - shown).arg(hidden) + verbFor(hidden)
            : QString("and %1 more, none of them diverges").arg(count - shown),
        textFont(12), hidden ? theme.wrong : theme.dim);
}

/// Draws the map of the error in the chosen tensor of the viewed layer.
void drawMap(QPainter& p, const DiffLayout& layout, const DiffScene& scene, const Theme& theme) {
  const QRectF area = layout.map();
  paintTitle(
      p, QRectF(area.left(), area.top(), layout.units().front().box.left() - area.left() - 8, 22),
      text(scene.map_title), theme.text, 15);
  QRectF rest = area.adjusted(0, 30, 0, 0);
  if (!scene.quantisation.empty()) {
    writeElided(p, QRectF(rest.left(), rest.top() - 5, rest.width(), 16), text(scene.quantisation),
                textFont(12), theme.dim);
    rest.adjust(0, 14, 0, 0);
  }
  if (!scene.map.missing.empty())
    return paintNote(p, rest, "Not recorded; " + scene.map.missing + ".", theme);
  const double histogram = std::min(120.0, rest.height() * 0.34);
  paintErrorMap(p, rest.adjusted(0, 0, 0, -histogram - 8), scene.map, scene.unit, theme);
  paintErrorHistogram(p, QRectF(rest.left(), rest.bottom() - histogram, rest.width(), histogram),
                      scene.map, scene.unit, theme);
}

}  // namespace

void paintDiff(QPainter& p, const QRectF& area, const DiffScene& scene, const Theme& theme) {
  p.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(p, area, scene.note, theme);
  const DiffLayout layout(area, scene);
  for (std::size_t t = 0; t < scene.tables.size(); ++t)
    drawTable(p, area, layout, t, scene.tables[t], theme);
  drawRest(p, layout, scene.rest, theme);
  drawMap(p, layout, scene, theme);
}

double diffHeight(double width, const DiffScene& scene) {
  if (!scene.note.empty()) return 0;
  return DiffLayout({0, 0, width, 1}, scene).tablesBottom() + kLeastRest;
}

std::optional<DiffCell> diffHit(const QPointF& point, const QRectF& area, const DiffScene& scene) {
  if (!scene.note.empty()) return std::nullopt;
  const DiffLayout layout(area, scene);
  for (std::size_t t = 0; t < scene.tables.size(); ++t)
    for (std::size_t layer = 0; layer < scene.tables[t].layers.size(); ++layer)
      for (std::size_t c = 0; c < scene.tables[t].tensors.size(); ++c)
        if (const auto& cell = scene.tables[t].layers[layer][c];
            cell && layout.cell(t, layer, c).contains(point))
          return cell;
  return std::nullopt;
}

std::vector<UnitButton> diffUnits(const QRectF& area, const DiffScene& scene) {
  return scene.note.empty() ? DiffLayout(area, scene).units() : std::vector<UnitButton>();
}

}  // namespace ringscope::viz
