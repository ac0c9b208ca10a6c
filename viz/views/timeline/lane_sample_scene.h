// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "viz/scene/tracks.h"

namespace ringscope::viz {

/// The contents of one pixel column of a lane, as shares of the column's time.
struct ColumnMix {
  std::array<float, kShades> share{};
  /// The rank whose blocks take more of the column than all others together, and by how much; −1:
  /// none.
  std::int16_t source = -1;
  float lead = 0;

  void vote(std::int16_t of, float part) {
    if (of < 0) return;
    if (of == source) {
      lead += part;
    } else if (part > lead) {
      source = of;
      lead = part - lead;
    } else {
      lead -= part;
    }
  }
  float busy() const {
    float sum = 0;
    for (const float part : share) sum += part;
    return sum;
  }
};

/// The drawing of one lane: stretches that are wide enough to be shapes, and a picture of the rest
/// with one column per pixel. Kept from lane to lane, so that nothing is allocated while it moves.
struct LaneSample {
  std::vector<std::size_t> bars;   ///< indices into the lane's tree
  std::vector<ColumnMix> columns;  ///< one a pixel of the scale's width
  int first = 0, last = -1;        ///< columns that hold something; none: last < first
  std::uint32_t shades = 0;        ///< that columns may have a share of, a bit each

  bool dense() const { return first <= last; }
};

/// Stretches from `least_bar` pixels on are bars. However many events there are: at most
/// width ÷ least_bar bars that do not overlap, and one column a pixel.
void sampleLane(const SpanTree& lane, const WindowScale& scale, double least_bar, LaneSample& out);

/// Messages and what they moved within a stretch of the axis.
struct RangeMeasure {
  double length_ns = 0;
  std::int64_t hops = 0;   ///< of KV, dK and dV, that touch it
  std::int64_t bytes = 0;  ///< as much of theirs as the time within it is of theirs
};
/// Of these ranks.
RangeMeasure measureRange(const Tracks& tracks, const std::vector<WorldRank>& ranks,
                          const TimeWindow& range);
/// "3.4 ms · 1 hop · 64 MiB · 20 GB/s".
std::string rangeWords(const RangeMeasure& measure);

}  // namespace ringscope::viz
