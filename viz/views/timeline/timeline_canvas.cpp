// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_canvas.h"

#include "viz/kit/page.h"
#include "viz/style/shapes.h"
#include "viz/views/timeline/account_painter.h"
#include "viz/views/timeline/overview_painter.h"

namespace ringscope::viz {
namespace {

void paintBarWords(QPainter& p, const TimelineCanvas::Look& look, const Theme& theme) {
  const QRectF& bar = look.at.bar;
  const double middle = bar.top() + 22;
  if (!writesShapes(p))  // a file has no control to choose the axis
    write(p, QRectF(bar.left() + 20, middle - 10, 76, 20), "AXIS", partFont(), theme.dim);
  double x = look.chips_left;
  for (const TimelineChip& chip : look.chips)
    for (const QString& words : {chip.words, chip.shorter}) {
      p.setFont(textFont(12));
      const QRectF box(x, middle - 12, p.fontMetrics().horizontalAdvance(words) + 22, 24);
      if (words.isEmpty() || box.right() > look.chips_right) continue;
      p.setPen(QPen(chip.warns ? theme.wait : theme.line, 1));
      p.setBrush(Qt::NoBrush);
      p.drawRoundedRect(box, 12, 12);
      p.setPen(chip.warns ? theme.wait : theme.text);
      p.drawText(box, Qt::AlignCenter, words);
      x = box.right() + 10;
      break;
    }
}

}  // namespace

void TimelineCanvas::forget() {
  canvas_ = {};
  forgetOverview();
}

void TimelineCanvas::paint(QPainter& painter, const QRectF& page, const QRegion& dirty,
                           const Look& look, const StepAccount& account, TimelineState& state,
                           const Theme& theme) {
  const auto is_dirty = [&](const QRectF& part) {
    return dirty.isEmpty() || dirty.intersects(part.toAlignedRect());
  };
  painter.save();
  paintAround(painter, page, dirty, look, account, state, theme);
  painter.restore();
  if (is_dirty(look.at.overview)) paintOverviewKept(painter, look, state.scene, theme);
  if (state.scene.empty()) return paintNote(painter, look.at.chart, state.why_empty, theme);
  if (is_dirty(look.at.chart)) paintChart(painter, look.chart, state.scene, canvas_, theme);
}

/// Draws everything but the lanes and the overview.
void TimelineCanvas::paintAround(QPainter& p, const QRectF& page, const QRegion& dirty,
                                 const Look& look, const StepAccount& account, TimelineState& state,
                                 const Theme& theme) {
  const TimelinePage& at = look.at;
  const ChartScene& scene = state.scene;
  const auto is_dirty = [&](const QRectF& part) {
    return !part.isEmpty() && (dirty.isEmpty() || dirty.intersects(part.toAlignedRect()));
  };
  QRegion ground = QRegion(page.toAlignedRect()) - at.overview.toAlignedRect();
  if (!scene.empty()) ground -= at.chart.toAlignedRect().adjusted(1, 1, -1, -1);
  for (const QRect& part : dirty.isEmpty() ? ground : ground& dirty) p.fillRect(part, theme.panel);
  if (is_dirty(at.bar)) paintBarWords(p, look, theme);
  if (is_dirty(at.legend)) {
    if (scene.model) paintModelLabel(p, at.legend, theme);
    paintLegend(p, at.legend, theme);
  }
  if (is_dirty(at.sentence) && !(scene.model && scene.empty()))
    write(p, sentenceText(at.sentence), text(account.sentence), sentenceFont(), theme.text,
          Qt::AlignVCenter | Qt::TextWordWrap);
  if (!at.panel.isEmpty() && is_dirty(at.controls))
    p.fillRect(QRectF(at.panel.left(), at.controls.top(), 1, at.controls.height()), theme.line);
  if (!is_dirty(at.panel)) return;
  p.setClipRect(at.panel);
  p.fillRect(QRectF(at.panel.left(), at.panel.top(), 1, at.panel.height()), theme.line);
  state.panel_height = paintAccount(p, at.panel.translated(0, -state.scroll_panel), account,
                                    state.selected ? &*state.selected : nullptr, theme);
}

/// The steps of the overview change only with the recording, and there may be thousands.
void TimelineCanvas::paintOverviewKept(QPainter& painter, const Look& look, const ChartScene& scene,
                                       const Theme& theme) {
  const QRectF& area = look.at.overview;
  if (writesShapes(painter)) {
    painter.fillRect(area, theme.panel);
    paintOverview(painter, area, scene, theme);
    return paintOverviewWindow(painter, area, scene, theme);
  }
  const QSize size = (area.size() * look.density).toSize().expandedTo({1, 1});
  if (overview_.size() != size) {
    overview_ = QPixmap(size);
    overview_.setDevicePixelRatio(look.density);
    overview_.fill(theme.panel);
    QPainter p(&overview_);
    p.setRenderHint(QPainter::Antialiasing);
    paintOverview(p, QRectF(QPointF(0, 0), area.size()), scene, theme);
  }
  painter.drawPixmap(area.topLeft(), overview_);
  paintOverviewWindow(painter, area, scene, theme);
}

}  // namespace ringscope::viz
