// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/paint/dense_lanes.h"

#include <algorithm>
#include <cstring>

#include "viz/style/shade_style.h"

namespace ringscope::viz {
namespace {

struct Rgb {
  float r = 0, g = 0, b = 0;
  void add(QRgb color, float share) {
    r += share * static_cast<float>(qRed(color));
    g += share * static_cast<float>(qGreen(color));
    b += share * static_cast<float>(qBlue(color));
  }
};

/// Ranks whose colour is looked up at once.
constexpr std::size_t kRanks = 64;

QRgb sourceColor(std::int16_t source) {
  static const auto kColors = [] {
    std::array<QRgb, kRanks> colors{};
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      colors[rank] = rankColor(traces::WorldRank::of(rank)).rgb();
    return colors;
  }();
  const auto rank = static_cast<std::size_t>(source);
  return rank < kRanks ? kColors[rank] : rankColor(traces::WorldRank::of(source)).rgb();
}

}  // namespace

DenseLanes::DenseLanes(QImage& image, const Theme& theme)
    : image_(image), ground_(theme.background), row_(static_cast<std::size_t>(image.width())) {
  for (std::size_t i = 0; i < kShades; ++i) colors_[i] = shadeColor(static_cast<Shade>(i), theme);
}

QRgb DenseLanes::colorOf(const ColumnMix& mix) const {
  const float busy = mix.busy();
  const float scale = busy > 1 ? 1 / busy : 1;  // what overlaps shares the pixel
  Rgb sum;
  sum.add(ground_.rgb(), 1 - std::min(busy, 1.0F));
  for (std::size_t i = 0; i < kShades; ++i) {
    if (mix.share[i] <= 0) continue;
    const auto shade = static_cast<Shade>(i);
    const bool of_block = mix.source >= 0 &&
                          (shade == Shade::kAttend || shade == Shade::kMessage) &&
                          mix.lead > 0.3F * mix.share[i];
    const float share = mix.share[i] * scale;
    const float ink = shade == Shade::kWait ? 0.6F : 1;  // as dark as its hatching
    sum.add(of_block ? sourceColor(mix.source) : colors_[i].rgb(), share * ink);
    if (ink < 1) sum.add(ground_.rgb(), share * (1 - ink));
  }
  return qRgb(static_cast<int>(sum.r), static_cast<int>(sum.g), static_cast<int>(sum.b));
}

void DenseLanes::paint(const LaneSample& sample, int top, int height) {
  std::fill(row_.begin(), row_.end(), ground_.rgb());
  for (int i = sample.first; i <= std::min(sample.last, image_.width() - 1); ++i)
    row_[static_cast<std::size_t>(i)] = colorOf(sample.columns[static_cast<std::size_t>(i)]);
  for (int y = std::max(0, top); y < std::min(top + height, image_.height()); ++y)
    std::memcpy(image_.scanLine(y), row_.data(), row_.size() * sizeof(QRgb));
}

}  // namespace ringscope::viz
