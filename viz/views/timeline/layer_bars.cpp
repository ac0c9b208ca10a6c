// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/layer_bars.h"

#include <algorithm>

#include "viz/kit/page.h"

namespace ringscope::viz {
namespace {

constexpr double kHeight = 38;

int lastLayer(const StepAccount& account) {
  int last = 0;
  for (const LayerAccount& layer : account.layers)
    if (layer.layer.exists()) last = std::max(last, layer.layer.value());
  return last;
}

void paintLegend(QPainter& p, const QRectF& row, int last, const Theme& theme) {
  write(p, row, "layer 0", textFont(11), theme.dim);
  if (last > 0) p.drawText(row, Qt::AlignVCenter | Qt::AlignRight, QString::number(last));
  const double middle = row.center().x();
  p.fillRect(QRectF(middle - 74, row.top() + 4, 8, 8), theme.accent);
  p.drawText(QPointF(middle - 62, row.top() + 12), "forward");
  p.fillRect(QRectF(middle - 4, row.top() + 4, 8, 8), theme.wait);
  p.drawText(QPointF(middle + 8, row.top() + 12), "backward");
}

}  // namespace

std::int64_t mostExposed(const StepAccount& account) {
  std::int64_t most = -1;
  for (const LayerAccount& layer : account.layers)
    if (layer.layer.exists()) most = std::max(most, layer.exposure.exposed_ns);
  return most;
}

void paintLayerBars(QPainter& p, const QRectF& area, const StepAccount& account,
                    const Theme& theme) {
  const std::int64_t most = std::max<std::int64_t>(1, mostExposed(account));
  const int last = lastLayer(account);
  const double pitch = area.width() / (last + 1.0);
  for (const LayerAccount& layer : account.layers) {
    if (layer.layer.isNone()) continue;
    const bool backward = layer.direction == traces::Direction::kBackward;
    const double height =
        kHeight * static_cast<double>(layer.exposure.exposed_ns) / static_cast<double>(most);
    const double width = std::clamp(pitch / 2 - 1, 1.0, 28.0);
    const double x = area.left() + pitch * layer.layer.value() + (backward ? width + 1 : 0);
    p.fillRect(QRectF(x, area.top() + kHeight - height, width, std::max(1.0, height)),
               backward ? theme.wait : theme.accent);
  }
  p.fillRect(QRectF(area.left(), area.top() + kHeight, area.width(), 1), theme.line);
  paintLegend(p, QRectF(area.left(), area.top() + kHeight + 4, area.width(), 16), last, theme);
}

}  // namespace ringscope::viz
