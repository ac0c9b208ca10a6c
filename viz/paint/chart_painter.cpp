// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/paint/chart_painter.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "viz/paint/chart_bars.h"
#include "viz/paint/chart_tag.h"
#include "viz/paint/dense_lanes.h"
#include "viz/scene/ruler.h"
#include "viz/scene/units.h"

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
        scale_(layout.scale(scene.window)) {}

  void paint() {
    canvas_.primitives = 0;
    p_.fillRect(at_.area, theme_.panel);
    if (scene_.empty()) return;
    names();
    ruler();
    p_.save();
    p_.setClipRect(at_.lanes);
    p_.setRenderHint(QPainter::Antialiasing, false);
    lanes();
    p_.setRenderHint(QPainter::Antialiasing, true);
    flows();
    chosen();
    p_.restore();
    folds();
    range();
    marks();
    instant();
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
    std::vector<QRectF> tags;  // they stand upon the ruler, and its words give way
    if (isOnLanes(scene_.instant_ns))
      tags.push_back(
          chartTagBox(at_.area, scale_.x(scene_.instant_ns), at_.ruler.top(), instantWords()));
    for (const double mark : scene_.marks)
      if (isOnLanes(mark))
        tags.push_back(chartTagBox(at_.area, scale_.x(mark), at_.ruler.top(), "M9"));
    p_.setFont(monoFont(10));
    for (const RulerTick& tick : rulerTicks(scale_, scene_.origin_ns)) {
      p_.setPen(QPen(theme_.line, 1));
      p_.drawLine(QPointF(tick.x, at_.ruler.bottom() - 4), QPointF(tick.x, at_.lanes.bottom()));
      const QString words = QString::fromStdString(tick.label);
      const QRectF box(tick.x + 2, at_.ruler.top(), p_.fontMetrics().horizontalAdvance(words) + 4,
                       18);
      if (box.right() - 2 > at_.ruler.right() || meetsAny(tags, box)) continue;
      p_.setPen(theme_.dim);
      p_.drawText(QPointF(tick.x + 4, at_.ruler.top() + 14), words);
    }
  }

  /// Device pixels to a logical one.
  double density() const { return p_.device()->devicePixelRatioF() * p_.transform().m11(); }

  void lanes() {
    const double density = this->density();
    const QSize size = QSizeF(at_.lanes.size() * density).toSize().expandedTo({1, 1});
    if (canvas_.image.size() != size) canvas_.image = QImage(size, QImage::Format_RGB32);
    canvas_.image.setDevicePixelRatio(1);
    canvas_.image.fill(theme_.panel);
    for (const QRectF& box : at_.ranks) ground(box, density);
    DenseLanes dense(canvas_.image, theme_);
    const WindowScale device{scene_.window, 0, static_cast<double>(size.width())};
    std::vector<std::pair<const ChartLayout::Row*, std::size_t>> bars;
    for (const ChartLayout::Row& row : at_.rows) {
      if (row.box.bottom() < at_.lanes.top() || row.box.top() > at_.lanes.bottom()) continue;
      const RankTracks* tracks = scene_.tracks->of(scene_.ranks[row.seat.index()]);
      if (!tracks) continue;
      sampleLane(tracks->lane(row.lane), device, kLeastBar * density, canvas_.sample);
      const int top = static_cast<int>(std::round((row.box.top() - at_.lanes.top()) * density));
      const int bottom =
          static_cast<int>(std::round((row.box.bottom() - at_.lanes.top()) * density));
      dense.paint(canvas_.sample, top, bottom - top);
      for (const std::size_t i : canvas_.sample.bars) bars.emplace_back(&row, i);
    }
    canvas_.image.setDevicePixelRatio(density);
    p_.drawImage(at_.lanes.topLeft(), canvas_.image);
    gridlines();
    BarPainter painter(p_, canvas_, theme_);
    for (const auto& [row, i] : bars) bar(painter, *row, i);
    captions();
  }

  /// The ground of a rank's lanes.
  void ground(const QRectF& box, double density) {
    const int from = std::max(0, static_cast<int>((box.top() - at_.lanes.top()) * density));
    const int to = std::min(canvas_.image.height(),
                            static_cast<int>((box.bottom() - at_.lanes.top()) * density));
    const QRgb color = theme_.background.rgb();
    for (int y = from; y < to; ++y) {
      auto* line = reinterpret_cast<QRgb*>(canvas_.image.scanLine(y));
      std::fill(line, line + canvas_.image.width(), color);
    }
  }

  /// Over the picture, under bars; faint, since they cross what is drawn.
  void gridlines() {
    QColor color = theme_.line;
    color.setAlpha(90);
    for (const RulerTick& tick : rulerTicks(scale_, scene_.origin_ns))
      p_.fillRect(QRectF(std::round(tick.x), at_.lanes.top(), 1, at_.lanes.height()), color);
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
    const GroupRank to = hop ? scene_.seatOf(WorldRank::of(span.peer_index)) : GroupRank::none();
    if (to.isNone() || box.right() > at_.lanes.right() || box.right() < at_.lanes.left()) return;
    const ChartLayout::Row* target = at_.row(to, LaneKind::kCompute);
    hops_.push_back({QPointF(box.right(), box.center().y()),
                     QPointF(box.right(), to > row.seat ? target->box.top() : target->box.bottom()),
                     WorldRank::of(span.source)});
  }

  /// From where a message ends to the lane of who gets it; so many that nothing could be followed
  /// are left out.
  void flows() {
    constexpr std::size_t kMost = 240;
    if (hops_.size() > kMost) return;
    p_.setBrush(Qt::NoBrush);
    for (const Hop& hop : hops_) {
      QColor color = rankColor(hop.source);
      color.setAlpha(170);
      p_.setPen(QPen(color, 1.3));
      QPainterPath path(hop.from);
      const double reach = std::min(24.0, std::abs(hop.to.y() - hop.from.y()) / 3);
      path.cubicTo(hop.from + QPointF(10, 0),
                   hop.to + QPointF(10, hop.to.y() > hop.from.y() ? -reach : reach), hop.to);
      p_.drawPath(path);
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
                    QString::fromStdString(scene_.captions[seat]));
  }

  void outline(const SpanPlace& place, const QColor& color, double width) {
    if (!place.exists()) return;
    p_.setBrush(Qt::NoBrush);
    p_.setPen(QPen(color, width));
    if (const ChartLayout::Row* row = at_.row(scene_.seatOf(place.rank), place.lane))
      p_.drawRoundedRect(boxOf(*row, place.span).adjusted(-1, -1, 0, 1), 2, 2);
  }
  void chosen() {
    outline(scene_.hovered, theme_.text, 1);
    outline(scene_.selected, theme_.accent, 2);
  }

  void folds() {
    const TimeFolds& folds = scene_.tracks->folds;
    p_.setFont(textFont(10));
    for (std::size_t i = 0; i < folds.all().size(); ++i) {
      const double x = scale_.x(static_cast<double>(folds.places()[i]));
      if (x < at_.lanes.left() || x > at_.lanes.right()) continue;
      p_.setPen(QPen(theme_.dim, 1, Qt::DashLine));
      p_.drawLine(QPointF(x, at_.ruler.bottom() - 4), QPointF(x, at_.lanes.bottom()));
      p_.drawText(QPointF(x + 4, at_.lanes.bottom() - 4),
                  QString("held %1").arg(describeDuration(folds.all()[i].length()).c_str()));
    }
  }

  bool isOnLanes(double ns) const {
    const double x = scale_.x(ns);
    return x >= at_.lanes.left() && x <= at_.lanes.right();
  }
  QString instantWords() const {
    return describeTime(scene_.instant_ns - scene_.origin_ns, scale_.perPixel()).c_str();
  }
  void tag(double x, double top, const QString& words, const QColor& ground, const QColor& ink) {
    paintChartTag(p_, chartTagBox(at_.area, x, top, words), words, ground, ink);
  }

  void range() {
    if (!scene_.range) return;
    const double left = std::max(at_.lanes.left(), scale_.x(scene_.range->begin_ns));
    const double right = std::min(at_.lanes.right(), scale_.x(scene_.range->end_ns));
    if (right < left) return;
    QColor fill = theme_.accent;
    fill.setAlpha(38);
    p_.fillRect(QRectF(left, at_.lanes.top(), right - left, at_.lanes.height()), fill);
    p_.setPen(QPen(theme_.accent, 1));
    for (const double x : {left, right})
      p_.drawLine(QPointF(x, at_.ruler.top() + 2), QPointF(x, at_.lanes.bottom()));
    tag((left + right) / 2, at_.lanes.bottom() - 22, QString::fromStdString(scene_.range_words),
        theme_.raised, theme_.text);
  }

  void marks() {
    int number = 0;
    for (const double mark : scene_.marks) {
      ++number;
      if (!isOnLanes(mark)) continue;
      const double x = scale_.x(mark);
      p_.setPen(QPen(theme_.accent, 1, Qt::DotLine));
      p_.drawLine(QPointF(x, at_.ruler.top() + 18), QPointF(x, at_.lanes.bottom()));
      tag(x, at_.ruler.top(), QString("M%1").arg(number), theme_.accent, theme_.on_accent);
    }
  }

  void instant() {
    if (!isOnLanes(scene_.instant_ns)) return;
    const double x = scale_.x(scene_.instant_ns);
    p_.setPen(QPen(theme_.text, 2));
    p_.drawLine(QPointF(x, at_.ruler.top() + 18), QPointF(x, at_.lanes.bottom()));
    tag(x, at_.ruler.top(), instantWords(), theme_.text, theme_.background);
  }

  QPainter& p_;
  const ChartLayout& at_;
  const ChartScene& scene_;
  ChartCanvas& canvas_;
  const Theme& theme_;
  WindowScale scale_;
  std::vector<Hop> hops_;
};

}  // namespace

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
