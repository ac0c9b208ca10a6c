// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/dense_lanes.h"

#include <algorithm>
#include <cstring>

#include "viz/style/shade_style.h"

namespace ringscope::viz {

DenseLanes::Rgb::Rgb(QRgb color)
    : r(static_cast<float>(qRed(color))),
      g(static_cast<float>(qGreen(color))),
      b(static_cast<float>(qBlue(color))) {}

void DenseLanes::Rgb::add(const Rgb& color, float share) {
  r += share * color.r;
  g += share * color.g;
  b += share * color.b;
}

/// Looked up once for the first ranks.
const DenseLanes::Rgb& DenseLanes::ofSource(std::int16_t source) {
  constexpr std::size_t kRanks = 1024;
  static const auto kColors = [] {
    std::vector<Rgb> colors;
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      colors.emplace_back(rankColor(traces::WorldRank::of(rank)).rgb());
    return colors;
  }();
  const auto rank = static_cast<std::size_t>(source);
  if (rank < kRanks) return kColors[rank];
  static Rgb other;
  return other = Rgb(rankColor(traces::WorldRank::of(source)).rgb());
}

DenseLanes::DenseLanes(QImage& strip, int width, std::vector<int> ticks, const Theme& theme)
    : strip_(strip),
      width_(width),
      ticks_(std::move(ticks)),
      ground_color_(theme.background),
      ground_(ground_color_.rgb()),
      line_(theme.line.rgb()) {
  for (std::size_t i = 0; i < kShades; ++i) {
    const auto shade = static_cast<Shade>(i);
    const float ink = shade == Shade::kWait ? 0.6F : 1;  // as dark as its hatching
    colors_[i].add(Rgb(shadeColor(shade, theme).rgb()), ink);
    colors_[i].add(ground_, 1 - ink);
  }
}

QRgb DenseLanes::mixColor(const ColumnMix& mix, const ShadeList& shades) const {
  float busy = 0;
  for (const std::uint8_t i : shades) busy += mix.share[i];
  if (busy <= 0) return ground_color_.rgb();
  const float scale = busy > 1 ? 1 / busy : 1;  // what overlaps shares the pixel
  Rgb sum;
  sum.add(ground_, 1 - std::min(busy, 1.0F));
  for (const std::uint8_t i : shades) {
    const auto shade = static_cast<Shade>(i);
    const bool of_block = mix.source >= 0 &&
                          (shade == Shade::kAttend || shade == Shade::kMessage) &&
                          mix.lead > 0.3F * mix.share[i];
    sum.add(of_block ? ofSource(mix.source) : colors_[i], mix.share[i] * scale);
  }
  return qRgb(static_cast<int>(sum.r), static_cast<int>(sum.g), static_cast<int>(sum.b));
}

QRgb DenseLanes::withTick(const Rgb& below) const {
  Rgb mixed;
  mixed.add(line_, kTickInk);
  mixed.add(below, 1 - kTickInk);
  return qRgb(static_cast<int>(mixed.r), static_cast<int>(mixed.g), static_cast<int>(mixed.b));
}

void DenseLanes::paint(QPainter& painter, const LaneSample& sample, int top, int height) {
  if (height <= 0) return;
  if (!sample.dense()) {
    painter.fillRect(0, top, width_, height, ground_color_);
    for (const int tick : ticks_) painter.fillRect(tick, top, 1, height, QColor(withTick(ground_)));
    return;
  }
  if (strip_.width() != width_ || strip_.height() < height)
    strip_ = QImage(width_, std::max(height, strip_.height()), QImage::Format_RGB32);
  const ShadeList shades(sample.shades);
  auto* row = reinterpret_cast<QRgb*>(strip_.scanLine(0));
  std::fill(row, row + width_, ground_color_.rgb());
  for (int i = sample.first; i <= std::min(sample.last, width_ - 1); ++i)
    row[i] = mixColor(sample.columns[static_cast<std::size_t>(i)], shades);
  for (const int tick : ticks_) row[tick] = withTick(Rgb(row[tick]));
  const auto bytes = static_cast<std::size_t>(width_) * sizeof(QRgb);
  for (int y = 1; y < height; ++y) std::memcpy(strip_.scanLine(y), row, bytes);
  painter.drawImage(QPoint(0, top), strip_, QRect(0, 0, width_, height));
}

}  // namespace ringscope::viz
