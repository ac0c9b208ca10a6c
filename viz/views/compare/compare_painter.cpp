// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/compare_painter.h"

#include <algorithm>

#include "viz/kit/page.h"
#include "viz/views/compare/compare_cards.h"
#include "viz/views/compare/place_table.h"
#include "viz/views/positions/position_strip_painter.h"

namespace ringscope::viz {
namespace {

constexpr double kCompareSide = 20, kCompareGap = 12, kCostRow = 19, kCompareTitle = 22;
constexpr double kWideFrom = 1100, kSideWidth = 368, kComparePositions = 24, kCompareFloor = 24;

QStringList eachAfter(const char* glyph, const std::vector<std::string>& sentences) {
  QStringList all;
  for (const std::string& sentence : sentences) all << glyph + text(sentence);
  return all;
}

/// The layout of the page, for painting, hit testing and measuring.
class CompareLayout {
 public:
  CompareLayout(const QRectF& area, const CompareScene& scene) : scene_(scene) {
    const bool wide = area.width() >= kWideFrom;
    main_ = QRectF(area.left() + kCompareSide,
                   area.top() + CompareCards(area.width(), scene.a, scene.b).head,
                   area.width() - 2 * kCompareSide, 0);
    beside_ = main_;
    if (wide) {
      main_.setWidth(main_.width() - kSideWidth - 2 * kCompareGap);
      beside_.setLeft(main_.right() + 2 * kCompareGap);
    }
    placeVerdict();
    settings = TextPart::under(main_, "SETTINGS THAT DIFFER", {text(join(scene.settings, " · "))});
    placeTable();
    placePositions();
    placeMap();
    placeRest(wide ? beside_ : main_);
    bottom = std::max(main_.bottom(), beside_.bottom()) + kCompareTitle;
  }

  QRectF verdict, floor, costs, positions, map;
  QStringList verdict_lines;
  TextPart settings, doctor, remarks, left_out;
  PlaceTable table{{}, 0, 0};
  double bottom = 0;

  int costColumns() const { return costs.width() > 560 ? 2 : 1; }
  int costRows() const {
    const auto rows = static_cast<int>(scene_.costs.size());
    return (rows + costColumns() - 1) / costColumns();
  }
  static QFont lineFont(bool first) {
    return textFont(first ? 13 : 12, first ? QFont::DemiBold : QFont::Normal);
  }

 private:
  static std::string join(const std::vector<std::string>& all, const char* between) {
    std::string joined;
    for (const std::string& one : all) joined += (joined.empty() ? "" : between) + one;
    return joined;
  }
  void placeVerdict() {
    double height = 2 * 8;
    for (const std::string& sentence : scene_.conclusion) {
      verdict_lines << text(sentence);
      height += wrappedHeight(verdict_lines.back(), lineFont(verdict_lines.size() == 1),
                              main_.width() - 2 * 14) +
                2;
    }
    if (scene_.lacks_floor) {
      floor =
          QRectF(main_.left() + 14, main_.bottom() + height - 8, main_.width() - 28, kCompareFloor);
      height += kCompareFloor - 2;
    }
    verdict = QRectF(main_.left(), main_.bottom(), main_.width(), height);
    main_.setBottom(verdict.bottom() + kCompareGap);
  }
  void placeRest(QRectF& column) {
    costs = QRectF(column.left(), column.bottom(), column.width(), 0);
    if (!scene_.costs.empty()) {
      costs.setHeight(2 * kCompareTitle - 4 + kCostRow * costRows());
      column.setBottom(costs.bottom() + kCompareGap);
    }
    QStringList said;
    for (const std::string& line : scene_.doctor) said << text(line);
    doctor = TextPart::under(column, "DOCTOR ON B BY ITSELF", said);
    remarks = TextPart::under(column, "", eachAfter("◆ ", scene_.remarks));
    left_out = TextPart::under(column, "NOT COMPARED", eachAfter("– ", scene_.left_out));
  }
  void placeTable() {
    table = PlaceTable(QPointF(main_.left(), main_.bottom() + kCompareTitle + 4), main_.width(),
                       scene_.places.size());
    const double rows = scene_.places.empty()
                            ? wrappedHeight(text(scene_.no_places), textFont(12), main_.width())
                            : table.box().height();
    main_.setBottom(table.box().top() + rows + kCompareGap);
  }
  void placePositions() {
    if (scene_.positions_a.empty()) return;
    positions =
        QRectF(main_.left(), main_.bottom(), main_.width(), kPartTitle + 2 * kComparePositions);
    main_.setBottom(positions.bottom() + kPartGap);
  }

  void placeMap() {
    map = QRectF(main_.left(), main_.bottom(), main_.width(),
                 comparedMapHeight(main_.width(), scene_.map));
    if (map.height() > 0) main_.setBottom(map.bottom() + kPartGap);
  }

  const CompareScene& scene_;
  QRectF main_, beside_;
};

class ComparePage {
 public:
  ComparePage(QPainter& painter, const CompareScene& scene, const CompareLayout& layout,
              const Theme& theme)
      : p_(painter), scene_(scene), at_(layout), theme_(theme) {}

  void verdict() {
    const QColor color = agreementColor(scene_.verdict, theme_);
    p_.setPen(QPen(scene_.verdict == Agreement::kUnknown ? theme_.dim : color, 1.5));
    p_.setBrush(theme_.panel);
    p_.drawRoundedRect(at_.verdict.adjusted(1, 1, -1, -1), 8, 8);
    QRectF line = at_.verdict.adjusted(14, 8, -14, 0);
    for (int i = 0; i < at_.verdict_lines.size(); ++i) {
      line = writeWrapped(p_, line, at_.verdict_lines[i], CompareLayout::lineFont(i == 0),
                          i == 0 ? color : theme_.dim, 2);
    }
    if (at_.floor.isEmpty()) return;
    writeElided(p_, at_.floor, "Open a second recording of B's run … (E)",
                CompareLayout::lineFont(false), theme_.accent);
  }
  void positions() {
    if (scene_.positions_a.empty()) return;
    const QRectF rest =
        paintPartTitle(p_, at_.positions,
                       "POSITION IDS, A ABOVE B, IN GLOBAL ORDER; HATCHED WHERE B DIFFERS", theme_);
    QRectF bar(rest.left() + 24, rest.top(), rest.width() - 24, kComparePositions - 4);
    for (const auto& [letter, runs] :
         {std::pair("A", &scene_.positions_a), {"B", &scene_.positions_b}}) {
      writeElided(p_, QRectF(rest.left(), bar.top(), 20, bar.height()), letter, textFont(12),
                  theme_.dim);
      paintHeldRuns(p_, bar, *runs, theme_);
      bar.translate(0, kComparePositions);
    }
  }
  void costs() {
    if (scene_.costs.empty()) return;
    const int columns = at_.costColumns(), rows = at_.costRows();
    paintPartTitle(p_, at_.costs,
                   QString("WHAT TRAINING STEP %1 GAVE AND TOOK, ALL RANKS").arg(scene_.train_step),
                   theme_);
    const double between = columns > 1 ? 2 * kCompareGap : 0;
    const double width = (at_.costs.width() - between) / columns;
    for (int column = 0; column < columns; ++column) {
      QRectF line(at_.costs.left() + (width + between) * column,
                  at_.costs.top() + kCompareTitle - 4, width, kCostRow);
      cost(line, {"", "A", "B", "A ÷ B"}, true);
      for (int row = 0; row < rows; ++row) {
        const auto i = static_cast<std::size_t>(column) * static_cast<std::size_t>(rows) +
                       static_cast<std::size_t>(row);
        line.translate(0, kCostRow);
        if (i < scene_.costs.size()) cost(line, scene_.costs[i], false);
      }
    }
  }
  void places(const CompareLook& look) {
    const QRectF box = at_.table.box();
    paintPartTitle(p_, QRectF(box.left(), box.top() - kCompareTitle, box.width(), kCompareTitle),
                   QString("PLACES OF TRAINING STEP %1").arg(scene_.train_step), theme_);
    write(p_, QRectF(box.left(), box.top() - kCompareTitle, box.width(), 16),
          "↑ ↓ choose and go there · Enter opens, closes · N next difference · B both",
          textFont(11), theme_.faint, Qt::AlignRight | Qt::AlignVCenter);
    if (scene_.places.empty()) {
      writeWrapped(p_, box, text(scene_.no_places), textFont(12), theme_.dim, 0);
      return;
    }
    at_.table.paint(p_, scene_.places, look.seen, look.selected, theme_);
  }

 private:
  void cost(const QRectF& line, const CostRow& row, bool head) {
    constexpr double kNumber = 66, kRatio = 54;
    double right = line.right();
    const auto number = [&](const std::string& value, double width, const QColor& color) {
      write(p_, QRectF(right - width, line.top(), width, line.height()), text(value),
            head ? textFont(11) : monoFont(11), color, Qt::AlignRight | Qt::AlignVCenter);
      right -= width;
    };
    number(row.ratio, kRatio, theme_.dim);
    number(row.b, kNumber, head ? theme_.dim : theme_.text);
    number(row.a, kNumber, head ? theme_.dim : theme_.text);
    writeElided(p_, QRectF(line.left(), line.top(), right - line.left() - 4, line.height()),
                text(row.name), textFont(12), theme_.dim);
  }

  QPainter& p_;
  const CompareScene& scene_;
  const CompareLayout& at_;
  const Theme& theme_;
};

}  // namespace

void paintCompare(QPainter& p, const QRectF& area, const CompareScene& scene,
                  const CompareLook& look, ComparedMapPainter& map, const Theme& theme) {
  p.fillRect(area, theme.background);
  const CompareLayout layout(area, scene);
  ComparePage page(p, scene, layout, theme);
  page.verdict();
  layout.settings.paint(p, theme.text, theme);
  page.positions();
  if (layout.map.height() > 0) map.paint(p, layout.map, scene.map, look.map, theme);
  page.costs();
  layout.doctor.paint(p, scene.doctor_finds ? theme.wrong : theme.dim, theme);
  layout.remarks.paint(p, theme.wait, theme);
  layout.left_out.paint(p, theme.dim, theme);
  page.places(look);
  CompareCards(look.seen.width(), scene.a, scene.b).paint(p, look.seen, scene.a, scene.b, theme);
}

double compareHeight(double width, const CompareScene& scene) {
  return CompareLayout(QRectF(0, 0, width, 0), scene).bottom;
}

CompareHit compareHit(const QPointF& point, const QRectF& area, const CompareScene& scene) {
  const CompareLayout layout(area, scene);
  CompareHit hit;
  hit.floor = layout.floor.contains(point);
  hit.verdict = layout.verdict.contains(point);
  if (const std::size_t row = layout.table.rowAt(point); row < scene.places.size()) {
    hit.row = row;
    hit.opener = scene.places[row].heads && layout.table.opener(row).contains(point);
  }
  return hit;
}

QRectF compareMap(const QRectF& area, const CompareScene& scene) {
  return CompareLayout(area, scene).map;
}

QRectF compareRow(const QRectF& area, const CompareScene& scene, std::size_t row) {
  return CompareLayout(area, scene).table.row(row);
}

void paintComparing(QPainter& p, const QRectF& area, const QString& sentence, double progress,
                    const Theme& theme) {
  p.fillRect(area, theme.background);
  write(p, area.adjusted(24, 0, -24, -area.height() / 2 - 12), sentence, textFont(15), theme.dim,
        Qt::AlignHCenter | Qt::AlignBottom | Qt::TextWordWrap);
  const QRectF track(area.center().x() - 120, area.center().y(), 240, 6);
  paintBar(p, track, progress, theme.accent, theme, 3);
}

}  // namespace ringscope::viz
