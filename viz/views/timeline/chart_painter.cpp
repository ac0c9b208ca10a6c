// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/chart_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/views/timeline/chain_painter.h"
#include "viz/views/timeline/chart_bars.h"
#include "viz/views/timeline/chart_marks.h"
#include "viz/views/timeline/chart_tag.h"
#include "viz/views/timeline/dense_lanes.h"
#include "viz/views/timeline/ruler_scene.h"

namespace ringscope::viz {
namespace {

/// One frame.
class ChartFrame {
 public:
  ChartFrame(QPainter& painter, const ChartLayout& layout, const ChartScene& scene,
             ChartCanvas& canvas, const Theme& theme)
      : p_(painter),
        at_(layout),
        scene_(scene),
        canvas_(canvas),
        theme_(theme),
        scale_(layout.scale(scene.window)),
        ticks_(rulerTicks(scale_, scene.origin_ns)) {}

  void paint() {
    canvas_.primitives = 0;
    if (scene_.empty()) return p_.fillRect(at_.area, theme_.panel);
    around();
    names();
    ruler();
    p_.save();
    p_.setClipRect(at_.lanes);
    p_.setRenderHint(QPainter::Antialiasing, false);
    lanes();
    p_.setRenderHint(QPainter::Antialiasing, true);
    flows();
    if (scene_.chain) canvas_.primitives += paintChain(p_, at_, scene_, theme_);
    chosen();
    p_.restore();
    ChartMarks(p_, at_, scene_, theme_).paint();
  }

 private:
  struct Hop {
    QPointF from, to;
    WorldRank source;
  };

  void names() {
    for (const ChartLayout::Row& row : at_.rows) {
      if (row.box.bottom() < at_.lanes.top() || row.box.top() > at_.lanes.bottom()) continue;
      const bool own = row.lane == LaneKind::kCompute;
      if (!own && row.box.height() < 9) continue;
      const WorldRank rank = scene_.ranks[row.seat.index()];
      const int size = std::clamp(static_cast<int>(row.box.height() * 0.7), 9, own ? 13 : 11);
      p_.setFont(textFont(size, own ? QFont::DemiBold : QFont::Normal));
      p_.setPen(!own ? theme_.dim : rank == scene_.selected_rank ? theme_.accent : theme_.text);
      const QRectF box(at_.area.left() + 20, row.box.top(), at_.labels - 24, row.box.height());
      p_.drawText(box, Qt::AlignVCenter | Qt::AlignLeft,
                  own ? QString("rank %1").arg(rank.value()) : QString(title(row.lane)));
    }
  }

  void ruler() {
    // They stand upon the ruler, and its words give way.
    const std::vector<QRectF> tags = ChartMarks(p_, at_, scene_, theme_).tags();
    if (scene_.model) paintModelLabel(p_, at_.area, theme_);
    p_.setFont(monoFont(10));
    for (const RulerTick& tick : ticks_) {
      p_.setPen(QPen(theme_.line, 1));
      p_.drawLine(QPointF(tick.x, at_.ruler.bottom() - 4), QPointF(tick.x, at_.lanes.bottom()));
      const QString words = text(tick.label);
      const QRectF box(tick.x + 2, at_.ruler.top(), p_.fontMetrics().horizontalAdvance(words) + 4,
                       18);
      if (box.right() - 2 > at_.ruler.right() || meetsAny(tags, box)) continue;
      p_.setPen(theme_.dim);
      p_.drawText(QPointF(tick.x + 4, at_.ruler.top() + 14), words);
    }
  }

  /// Device pixels to a logical one.
  double density() const { return p_.device()->devicePixelRatioF() * p_.transform().m11(); }

  /// The panel but for the lanes, which cover the rest.
  void around() {
    const QRectF& area = at_.area;
    const QRectF& lanes = at_.lanes;
    p_.fillRect(QRectF(area.left(), area.top(), area.width(), lanes.top() + 1 - area.top()),
                theme_.panel);
    p_.fillRect(QRectF(area.left(), lanes.top(), lanes.left() + 1 - area.left(), lanes.height()),
                theme_.panel);
    p_.fillRect(
        QRectF(lanes.right() - 1, lanes.top(), area.right() - lanes.right() + 1, lanes.height()),
        theme_.panel);
    p_.fillRect(
        QRectF(area.left(), lanes.bottom() - 1, area.width(), area.bottom() - lanes.bottom() + 1),
        theme_.panel);
  }

  void lanes() {
    grounds();
    const double density = this->density();
    const int width = std::max(1, static_cast<int>(std::lround(at_.lanes.width() * density)));
    const WindowScale device{scene_.window, 0, static_cast<double>(width)};
    DenseLanes dense(canvas_.strip, width, tickColumns(width, density), theme_);
    std::vector<std::pair<const ChartLayout::Row*, std::size_t>> bars;
    p_.save();
    p_.translate(at_.lanes.topLeft());
    p_.scale(1 / density, 1 / density);
    for (const ChartLayout::Row& row : at_.rows) {
      if (row.box.bottom() < at_.lanes.top() || row.box.top() > at_.lanes.bottom()) continue;
      const RankTracks* tracks = scene_.tracks->of(scene_.ranks[row.seat.index()]);
      if (!tracks) continue;
      sampleLane(tracks->lane(row.lane), device, kLeastBar * density, canvas_.sample);
      const auto y = [&](double at) {
        return static_cast<int>(std::lround((at - at_.lanes.top()) * density));
      };
      dense.paint(p_, canvas_.sample, y(row.box.top()), y(row.box.bottom()) - y(row.box.top()));
      for (const std::size_t i : canvas_.sample.bars) bars.emplace_back(&row, i);
    }
    p_.restore();
    BarPainter painter(p_, canvas_, theme_);
    for (const auto& [row, i] : bars) bar(painter, *row, i);
    captions();
  }

  static QColor mixed(const QColor& line, const QColor& ground) {
    const auto part = [](int a, int b) { return std::lround(kTickInk * a + (1 - kTickInk) * b); };
    return {static_cast<int>(part(line.red(), ground.red())),
            static_cast<int>(part(line.green(), ground.green())),
            static_cast<int>(part(line.blue(), ground.blue()))};
  }

  /// Fills the gaps of lanes: between ranks with the panel, within a rank with its ground.
  void grounds() {
    double below = at_.lanes.top();
    std::size_t next = 0;
    const auto fill = [&](double from, double to, const QColor& color) {
      p_.fillRect(QRectF(at_.lanes.left(), from - 1, at_.lanes.width(), to - from + 2), color);
      for (const RulerTick& tick : ticks_)
        p_.fillRect(QRectF(std::round(tick.x), from - 1, 1, to - from + 2),
                    mixed(theme_.line, color));
    };
    for (std::size_t seat = 0; seat < at_.ranks.size(); ++seat) {
      const QRectF& box = at_.ranks[seat];
      fill(below, box.top(), theme_.panel);
      below = box.bottom();
      double y = box.top() + 1;
      for (; next < at_.rows.size() && at_.rows[next].seat.index() == seat; ++next) {
        fill(y, at_.rows[next].box.top(), theme_.background);
        y = at_.rows[next].box.bottom();
      }
      fill(y, box.bottom() - 1, theme_.background);
    }
    fill(below, at_.lanes.bottom(), theme_.panel);
  }

  /// Draws the faint lines over the pictures of lanes, under bars.
  std::vector<int> tickColumns(int width, double density) const {
    std::vector<int> columns;
    for (const RulerTick& tick : ticks_) {
      const auto x = static_cast<int>(std::lround((tick.x - at_.lanes.left()) * density));
      if (x >= 0 && x < width) columns.push_back(x);
    }
    return columns;
  }

  QRectF boxOf(const ChartLayout::Row& row, const Span& span) const {
    const double left =
        std::max(at_.lanes.left() - 8, scale_.x(static_cast<double>(span.begin_ns)));
    const double right =
        std::min(at_.lanes.right() + 8, scale_.x(static_cast<double>(span.end_ns)));
    const double density = this->density();
    const auto whole = [&](double v) { return std::round(v * density) / density; };
    const double x = whole(left), y = whole(row.box.top());
    return {x, y, std::max(1 / density, whole(right) - x), whole(row.box.bottom()) - y};
  }

  void bar(BarPainter& painter, const ChartLayout::Row& row, std::size_t i) {
    const SpanTree& lane = scene_.tracks->of(scene_.ranks[row.seat.index()])->lane(row.lane);
    const Span& span = lane[i];
    QRectF box = boxOf(row, span);
    if (box.width() > 12) box.setWidth(box.width() - 1);  // neighbours are told apart
    painter.paint(box, span, lane.bytes(i));
    const bool hop = row.lane == LaneKind::kKv || row.lane == LaneKind::kDkv;
    const GroupRank to = hop ? scene_.rankSeat(WorldRank::of(span.peer_index)) : GroupRank::none();
    if (to.isNone() || box.right() > at_.lanes.right() || box.right() < at_.lanes.left()) return;
    const ChartLayout::Row* target = at_.row(to, LaneKind::kCompute);
    hops_.push_back({QPointF(box.right(), box.center().y()),
                     QPointF(box.right(), to > row.seat ? target->box.top() : target->box.bottom()),
                     WorldRank::of(span.source)});
  }

  /// From where a message ends to the lane of who gets it; so many that nothing could be followed
  /// are left out.
  void flows() {
    constexpr std::size_t kMost = 96;
    if (hops_.size() > kMost) return;
    for (const Hop& hop : hops_) {
      QColor color = rankColor(hop.source);
      color.setAlpha(170);
      canvas_.flows.paint(p_, hop.from, hop.to, color, density());
      ++canvas_.primitives;
    }
  }

  void captions() {
    if (scene_.captions.size() != scene_.ranks.size()) return;
    p_.setFont(textFont(11));
    p_.setPen(theme_.dim);
    for (std::size_t seat = 0; seat < at_.captions.size(); ++seat)
      if (!at_.captions[seat].isEmpty())
        p_.drawText(at_.captions[seat].adjusted(4, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft,
                    text(scene_.captions[seat]));
  }

  void outline(const SpanPlace& place, const QColor& color, double width) {
    if (!place.exists()) return;
    p_.setBrush(Qt::NoBrush);
    p_.setPen(QPen(color, width));
    if (const ChartLayout::Row* row = at_.row(scene_.rankSeat(place.rank), place.lane))
      p_.drawRoundedRect(boxOf(*row, place.span).adjusted(-1, -1, 0, 1), 2, 2);
  }
  void chosen() {
    outline(scene_.hovered, theme_.text, 1);
    outline(scene_.selected, theme_.accent, 2);
  }

  QPainter& p_;
  const ChartLayout& at_;
  const ChartScene& scene_;
  ChartCanvas& canvas_;
  const Theme& theme_;
  WindowScale scale_;
  std::vector<RulerTick> ticks_;
  std::vector<Hop> hops_;
};

}  // namespace

void paintModelLabel(QPainter& painter, const QRectF& area, const Theme& theme) {
  write(painter, QRectF(area.left() + 20, area.top(), 72, 18), "◆ model", partFont(), theme.wait);
}

void paintChart(QPainter& painter, const ChartLayout& layout, const ChartScene& scene,
                ChartCanvas& canvas, const Theme& theme) {
  painter.save();
  ChartFrame(painter, layout, scene, canvas, theme).paint();
  painter.restore();
}

SpanPlace chartHit(const QPointF& point, const ChartLayout& layout, const ChartScene& scene) {
  if (scene.empty()) return {};
  const ChartLayout::Row* row = layout.rowAt(point);
  if (!row) return {};
  const WorldRank rank = scene.ranks[row->seat.index()];
  const RankTracks* tracks = scene.tracks->of(rank);
  if (!tracks) return {};
  constexpr double kNear = 2;  // pixels
  const WindowScale scale = layout.scale(scene.window);
  const auto span = spanAt(tracks->lane(row->lane), scale.ns(point.x()), kNear * scale.perPixel());
  return span ? SpanPlace{rank, row->lane, *span} : SpanPlace();
}

}  // namespace ringscope::viz
