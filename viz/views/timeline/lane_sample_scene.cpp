// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/lane_sample_scene.h"

#include <algorithm>
#include <cmath>

#include "traces/format/core/prose.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

/// A point in time is seen, too.
constexpr double kLeastSeen = 0.3;  // pixels

/// Puts stretches into the columns of a sample.
class Columns {
 public:
  Columns(const WindowScale& scale, std::uint32_t shades, LaneSample& out)
      : begin_ns_(scale.window.begin_ns),
        per_ns_(1 / scale.perPixel()),
        shades_(shades),
        out_(out) {
    const auto width = static_cast<std::size_t>(std::max(0.0, std::ceil(scale.width)));
    if (out.columns.size() != width) {
      out.columns.assign(width, {});
    } else if (out.dense()) {
      std::fill(out.columns.begin() + out.first, out.columns.begin() + out.last + 1, ColumnMix());
    }
    out.bars.clear();
    out.shades = shades;
    out.first = static_cast<int>(width);
    out.last = -1;
  }

  /// No wider than a pixel, so in two columns at most.
  void add(const SpanSum& sum) {
    const double x0 = x(sum.begin_ns), x1 = x(sum.end_ns);
    const double border = std::floor(x1);
    const double left = border > x0 && x1 > x0 ? (border - x0) / (x1 - x0) : 0;
    if (left > 0) add(sum, static_cast<int>(border) - 1, left);
    add(sum, static_cast<int>(border), 1 - left);
  }

  void add(const Span& span) {
    const double from = x(span.begin_ns);
    const double to = from + std::max(kLeastSeen, static_cast<double>(span.length()) * per_ns_);
    const int last = static_cast<int>(std::floor(to));
    for (int i = static_cast<int>(std::floor(from)); i <= last; ++i) {
      ColumnMix* column = at(i);
      if (!column) continue;
      const auto share = static_cast<float>(std::min(to, i + 1.0) - std::max(from, 1.0 * i));
      column->share[static_cast<std::size_t>(span.shade)] += share;
      column->vote(span.source, share);
    }
  }

 private:
  double x(std::int64_t ns) const { return (static_cast<double>(ns) - begin_ns_) * per_ns_; }
  ColumnMix* at(int i) {
    if (i < 0 || i >= static_cast<int>(out_.columns.size())) return nullptr;
    out_.first = std::min(out_.first, i);
    out_.last = std::max(out_.last, i);
    return &out_.columns[static_cast<std::size_t>(i)];
  }
  void add(const SpanSum& sum, int i, double part) {
    ColumnMix* column = at(i);
    if (!column) return;
    const auto scaled = static_cast<float>(part * per_ns_);
    float all = 0;
    for (const std::uint8_t k : shades_) {
      const float share = sum.busy_ns[k] * scaled;
      column->share[k] += share;
      all += share;
    }
    column->vote(sum.source, all);
  }

  double begin_ns_, per_ns_;
  ShadeList shades_;
  LaneSample& out_;
};

}  // namespace

void sampleLane(const SpanTree& lane, const WindowScale& scale, double least_bar, LaneSample& out) {
  Columns columns(scale, lane.shades(), out);
  const double least_ns = least_bar * scale.perPixel();
  lane.visit(
      scale.window.begin_ns, scale.window.end_ns, scale.perPixel(),
      [&](const SpanSum& sum, std::size_t) { columns.add(sum); },
      [&](std::size_t i) {
        const Span& span = lane[i];
        if (static_cast<double>(span.length()) >= least_ns)
          out.bars.push_back(i);
        else
          columns.add(span);
      });
}

RangeMeasure measureRange(const Tracks& tracks, const std::vector<WorldRank>& ranks,
                          const TimeWindow& range) {
  RangeMeasure measure{range.length(), 0, 0};
  double bytes = 0;
  const auto take = [&](std::int64_t begin, std::int64_t end, std::int64_t of_it) {
    const double from = std::max(range.begin_ns, static_cast<double>(begin));
    const double to = std::min(range.end_ns, static_cast<double>(end));
    const double share =
        end > begin ? std::max(0.0, to - from) / static_cast<double>(end - begin) : 1;
    bytes += share * static_cast<double>(of_it);
  };
  for (const WorldRank rank : ranks) {
    const RankTracks* tracks_of = tracks.of(rank);
    if (!tracks_of) continue;
    for (const LaneKind kind : {LaneKind::kKv, LaneKind::kDkv}) {
      const SpanTree& lane = tracks_of->lane(kind);
      lane.visitWithin(
          range.begin_ns, range.end_ns,
          [&](const SpanSum& sum, std::size_t spans) {
            measure.hops += static_cast<std::int64_t>(spans);
            bytes += static_cast<double>(sum.bytes);
          },
          [&](std::size_t i) {
            ++measure.hops;
            take(lane[i].begin_ns, lane[i].end_ns, lane.bytes(i));
          });
    }
  }
  measure.bytes = std::llround(bytes);
  return measure;
}

std::string rangeWords(const RangeMeasure& measure) {
  std::string words = describeDuration(std::llround(measure.length_ns)) + " · " +
                      traces::describeCount(measure.hops, "hop");
  if (measure.hops == 0) return words;
  words += " · " + describeBytes(measure.bytes);
  if (measure.length_ns > 0)
    words +=
        " · " +
        traces::describeSignificant(static_cast<double>(measure.bytes) / measure.length_ns, 3) +
        " GB/s";
  return words;
}

}  // namespace ringscope::viz
