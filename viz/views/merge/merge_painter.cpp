// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/merge/merge_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr double kMergeTop = 84, kMergeHeads = 22, kMergeLeastRow = 17, kMostRow = 44;
constexpr double kResult = 26, kTightResult = 20, kMergeSentence = 48;

/// The formulas lie beside each other on a wide page.
constexpr double kWidePage = 1100, kFormula = 28, kWideFormula = 36, kFormulaNumbers = 22,
                 kFormulaGap = 6;

double formulasHeight(double width) {
  return width < kWidePage ? 2 * (kFormula + kFormulaNumbers)
                           : kWideFormula + kFormulaNumbers + 4 * kFormulaGap;
}

/// The heights of the parts in an area. The sentence at the end gives way first, then the blocks,
/// then the formulas.
struct Heights {
  double row = kMostRow, result = kResult, formulas = 0;
  bool has_sentence = true;

  double results() const {
    return 3 * result + 14 + (has_sentence ? kMergeSentence : 0) + formulas;
  }
  static Heights of(const QSizeF& size, std::size_t steps) {
    const auto rows = static_cast<double>(std::max<std::size_t>(1, steps));
    const double needed = formulasHeight(size.width());
    for (const Heights& choice :
         {Heights{0, kResult, needed, true}, Heights{0, kResult, needed, false},
          Heights{0, kResult, 0, true}, Heights{0, kTightResult, 0, false}}) {
      Heights h = choice;
      const double row = (size.height() - kMergeTop - kMergeHeads - h.results() - 20) / rows;
      h.row = std::clamp(row, kMergeLeastRow, kMostRow);
      if (row >= kMergeLeastRow + 5 || h.result == kTightResult) return h;
    }
    return {};
  }
};

/// The values that the parts of the drawing share.
struct MergeCanvas {
  QPainter& p;
  QRectF area;
  const MergeScene& scene;
  const Theme& theme;
  Heights heights = Heights::of(area.size(), scene.history.steps.size());

  double rowHeight() const { return heights.row; }
  int numberSize() const { return rowHeight() < 22 ? 11 : 13; }
  QRectF column(int i, double y) const {
    static constexpr double kShares[] = {0, 0.10, 0.21, 0.34, 0.47, 0.78, 0.89, 1};
    const double w = area.width() - 48;
    return {area.left() + 24 + w * kShares[i], y, w * (kShares[i + 1] - kShares[i]) - 8,
            rowHeight() - gap()};
  }
  double gap() const { return rowHeight() < 22 ? 1 : 6; }
  void say(const QRectF& where, const QString& words, const QColor& color, const QFont& font,
           int alignment = Qt::AlignVCenter) const {
    write(p, where, words, font, color, alignment);
  }
};

/// Returns digits as small digits under the line.
QString subscript(const QString& digits) {
  QString small;
  for (const QChar digit : digits) small += QChar(0x2080 + digit.digitValue());
  return small;
}

constexpr int kMergeRight = Qt::AlignVCenter | Qt::AlignRight;

void drawHead(const MergeCanvas& c) {
  const QRectF line(c.area.left() + 24, c.area.top() + 12, c.area.width() - 48, 26);
  const WorldRank attending = c.scene.history.attending;
  paintTitle(c.p, line,
             QString("rank %1 · layer %2 · head %3 · query %4%5%6")
                 .arg(c.scene.rank.value())
                 .arg(c.scene.layer.value())
                 .arg(c.scene.row.head)
                 .arg(c.scene.row.query)
                 .arg(c.scene.token.exists()
                          ? QString(", token %1 of the sequence").arg(c.scene.token.value())
                          : QString(),
                      attending.exists() && attending != c.scene.rank
                          ? QString(" · attended by rank %1").arg(attending.value())
                          : QString()),
             c.theme.text);
  c.say(QRectF(line.left(), c.area.top() + 38, line.width(), 20),
        "↑ ↓ another query · Page Up, Page Down another head · 1–8, R another rank", c.theme.dim,
        textFont(12));
}

/// Draws the conclusion above the blocks, so that it is visible without going to the last block.
void drawVerdict(const MergeCanvas& c) {
  const MergeHistory& h = c.scene.history;
  const QRectF line(c.area.left() + 24, c.area.top() + 58, c.area.width() - 48, 20);
  if (c.scene.sealed)
    return c.say(line, QString("Which of the results agree is ") + kSealedWords, c.theme.dim,
                 textFont(13));
  const bool equal = h.largest_error_merged <= h.rounding;
  c.say(line,
        equal ? QString("✓ merged by their weights the blocks equal what was recorded")
              : QString("≠ merged by their weights the blocks are off by up to %1")
                    .arg(h.largest_error_merged, 0, 'g', 2),
        equal ? c.theme.right : c.theme.wrong, textFont(13, QFont::Medium));
}

void drawColumns(const MergeCanvas& c, double y) {
  const char* const weight = c.scene.isUnderWay() ? "weight so far" : "weight in the result";
  const char* const titles[] = {"ring step", "block", "block lse",    "running lse",
                                weight,      "",      "out[0] so far"};
  for (int i = 0; i < 7; ++i)
    c.say(QRectF(c.column(i, y).left() - (i == 6 ? 16 : 0), y,
                 c.column(i, y).width() + (i == 6 ? 16 : 0), kMergeHeads - 4),
          titles[i], c.theme.dim, partFont(),
          i < 2 || i == 4 ? Qt::AlignVCenter | Qt::AlignLeft : kMergeRight);
}

/// The weight of a block as a bar, and in percent beside it.
void drawWeight(const MergeCanvas& c, const MergeStep& step, double y) {
  const double inset = c.rowHeight() < 22 ? 3 : 4;
  const QRectF bar = c.column(4, y).adjusted(0, inset, 0, -inset);
  paintBar(c.p, bar, c.scene.weightSoFar(step), rankBrush(step.source_rank), c.theme, 3, 2);
  c.say(c.column(5, y), QString("%1 %").arg(c.scene.weightSoFar(step) * 100, 0, 'f', 2),
        c.theme.text, monoFont(c.numberSize()), kMergeRight);
}

void drawStep(const MergeCanvas& c, const MergeStep& step, double y) {
  const bool now = step.ring_step == c.scene.now;
  if (now) {
    c.p.setPen(Qt::NoPen);
    c.p.setBrush(c.theme.panel);
    c.p.drawRoundedRect(
        QRectF(c.area.left() + 16, y - c.gap() / 2, c.area.width() - 32, c.rowHeight()), 6, 6);
  }
  auto number = [&](int column, double value) {
    c.say(c.column(column, y), QString::number(value, 'f', 4), c.theme.text,
          monoFont(c.numberSize()), kMergeRight);
  };
  c.say(c.column(0, y), QString::number(step.ring_step.value()), now ? c.theme.text : c.theme.dim,
        monoFont(c.numberSize()));
  const QRectF face = c.column(1, y);
  if (step.source_rank.exists())
    paintFace(c.p,
              QRectF(face.left(), face.top() + 1, std::min(76.0, face.width()),
                     std::min(28.0, face.height() - 2)),
              step.source_rank, QString("KV %1").arg(step.source_rank.value()), c.theme);
  if (c.scene.isToCome(step))
    return c.say(c.column(4, y) | c.column(6, y), "to come", c.theme.dim, textFont(12));
  if (!step.attended)
    return c.say(c.column(4, y) | c.column(6, y), "nothing for this row: " + text(step.words),
                 c.theme.dim, textFont(12));
  number(2, step.block_lse);
  number(3, step.running_lse);
  drawWeight(c, step, y);
  number(6, step.running_out);
}

/// One of the results; `error`: how far it is from what was recorded, nothing for that itself.
void drawResult(const MergeCanvas& c, const QString& name, double value,
                std::optional<double> error, double y) {
  const double middle = c.area.left() + c.area.width() * 0.5;
  c.say(QRectF(c.area.left() + 24, y, c.area.width() * 0.5, 24), name, c.theme.text, textFont(13));
  c.say(QRectF(middle, y, 120, 24), QString::number(value, 'f', 6), c.theme.text, monoFont(13),
        kMergeRight);
  if (!error || c.scene.sealed) return;
  const bool equal = *error <= c.scene.history.rounding;
  c.say(QRectF(middle + 132, y, c.area.width() * 0.5 - 156, 24),
        equal ? "✓ equals what was recorded" : QString("≠ off by up to %1").arg(*error, 0, 'g', 2),
        equal ? c.theme.right : c.theme.wrong, textFont(13));
}

QString number(double value) {
  return QString::number(value, 'f', 4);
}

/// Returns a number behind a sign of multiplication.
QString factor(double value) {
  return value < 0 ? "(" + number(value) + ")" : number(value);
}

/// Draws a formula, and the same with the numbers of the recording under it.
void drawFormula(const MergeCanvas& c, const QRectF& box, const QString& formula,
                 const QString& numbers) {
  const bool large = box.height() > kFormula;
  writeElided(c.p, box, formula, textFont(large ? 24 : 18, QFont::Medium), c.theme.text);
  writeElided(c.p, {box.left(), box.bottom(), box.width(), kFormulaNumbers}, numbers,
              monoFont(large ? 16 : 13), c.theme.accent);
}

/// Draws how the last block that was merged has changed the row.
void drawFormulas(const MergeCanvas& c, double y) {
  const auto last = c.scene.lastMerged();
  if (!last || c.heights.formulas == 0) return;
  const MergeStep& step = c.scene.history.steps[*last];
  const MergeStep before = c.scene.before(*last);
  const bool first = std::isinf(before.running_lse);
  const bool wide = c.area.width() >= kWidePage;
  const double width = c.area.width() - 48;
  const double height = wide ? kWideFormula : kFormula;
  if (wide) y += kFormulaGap;
  const QRectF left(c.area.left() + 24, y, wide ? width * 0.42 : width, height);
  const QRectF right = wide ? QRectF(left.right() + 16, y, width - left.width() - 16, height)
                            : left.translated(0, kFormula + kFormulaNumbers);
  const QString block = QString::number(step.source_rank.value());
  drawFormula(c, left,
              first ? QString("lse = log exp(lse%1)").arg(subscript(block))
                    : QString("lse′ = log( exp(lse) + exp(lse%1) )").arg(subscript(block)),
              first ? QString("%1 = log exp(%1)").arg(number(step.block_lse))
                    : QString("%1 = log( exp(%2) + exp(%3) )")
                          .arg(number(step.running_lse), number(before.running_lse),
                               number(step.block_lse)));
  drawFormula(c, right,
              first ? QString("out = out%1").arg(subscript(block))
                    : QString("out′ = exp(lse − lse′) · out + exp(lse%1 − lse′) · out%1")
                          .arg(subscript(block)),
              first ? QString("%1 = %2").arg(number(step.running_out), number(step.block_out))
                    : QString("%1 = %2 · %3 + %4 · %5")
                          .arg(number(step.running_out),
                               number(std::exp(before.running_lse - step.running_lse)),
                               factor(before.running_out),
                               number(std::exp(step.block_lse - step.running_lse)),
                               factor(step.block_out)));
}

void drawResults(const MergeCanvas& c, double y) {
  const MergeHistory& h = c.scene.history;
  c.p.setPen(QPen(c.theme.line, 1));
  c.p.drawLine(QPointF(c.area.left() + 24, y - 10), QPointF(c.area.right() - 24, y - 10));
  drawFormulas(c, y);
  y += c.heights.formulas;
  drawResult(c, "recorded out[0]", h.out, std::nullopt, y);
  const double pitch = c.heights.result;
  drawResult(c, "blocks merged by their weights", h.merged, h.largest_error_merged, y + pitch);
  drawResult(c, "blocks simply added", h.naive, h.largest_error_naive, y + 2 * pitch);
  if (!c.heights.has_sentence) return;
  double weights = 0;
  for (const MergeStep& step : h.steps) weights += step.weight;
  c.say(QRectF(c.area.left() + 24, y + 3 * pitch + 2, c.area.width() - 48, kMergeSentence),
        QString("Each block's out is an average by itself. Weighted by exp(block lse − lse) they "
                "add up to %1 %%2; simply added, every block would count in full.")
            .arg(weights * 100, 0, 'f', 2)
            .arg(c.scene.has_sink ? ", and the attention sink has the rest" : ""),
        c.theme.dim, textFont(13), Qt::TextWordWrap);
}

}  // namespace

void paintMerge(QPainter& painter, const QRectF& area, const MergeScene& scene,
                const Theme& theme) {
  painter.fillRect(area, theme.background);
  const MergeCanvas canvas{painter, area, scene, theme};
  if (!scene.history.missing.empty() || scene.note.empty()) drawHead(canvas);
  if (!scene.note.empty()) return paintNote(painter, area.adjusted(0, 60, 0, 0), scene.note, theme);
  double y = area.top() + kMergeTop;
  drawVerdict(canvas);
  drawColumns(canvas, y);
  y += std::max(kMergeHeads, canvas.rowHeight());
  for (const MergeStep& step : scene.history.steps) {
    drawStep(canvas, step, y);
    y += canvas.rowHeight();
  }
  drawResults(canvas, y + 14);
}

double mergeHeight(const MergeScene& scene) {
  if (!scene.note.empty()) return 0;
  const std::size_t steps = scene.history.steps.size();
  return kMergeTop + kMergeHeads + kMergeLeastRow * static_cast<double>(steps) +
         Heights::of({kWidePage, 1}, steps).results() + 20;
}

}  // namespace ringscope::viz
