// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/inspector.h"

#include <QPainter>
#include <QPainterPath>
#include <cmath>

#include "traces/diff/summary.h"
#include "viz/style/category_style.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr double kMargin = 20;

}  // namespace

/// Text and drawings from top to bottom.
class Inspector::Page {
 public:
  Page(QPainter& painter, double width, const Theme& t) : p(painter), theme(t), w(width) {}
  QPainter& p;
  const Theme& theme;
  double w;
  double y = 18;

  QRectF row(double height) {
    const QRectF r(kMargin, y, w - 2 * kMargin, height);
    y += height;
    return r;
  }
  void gap(double height) { y += height; }
  void section(const QString& title) { text(title, textFont(11, QFont::DemiBold), theme.dim, 24); }
  void text(const QString& words, const QFont& font, const QColor& color, double height) {
    p.setFont(font);
    p.setPen(color);
    p.drawText(row(height), Qt::AlignVCenter | Qt::AlignLeft, words);
  }
  void wrapped(const QString& words, const QFont& font, const QColor& color) {
    p.setFont(font);
    const QRectF space(kMargin, y, w - 2 * kMargin, 2000);
    QRectF used = p.boundingRect(space, Qt::TextWordWrap, words);
    p.setPen(color);
    p.drawText(used, Qt::TextWordWrap, words);
    y += used.height() + 4;
  }
  void pair(const QString& name, const QString& value, const QColor& color) {
    const QRectF r = row(22);
    p.setFont(monoFont(12));
    p.setPen(color);
    p.drawText(r, Qt::AlignVCenter | Qt::AlignRight, value);
    const double room = r.width() - p.fontMetrics().horizontalAdvance(value) - 10;
    p.setFont(textFont(12));
    p.setPen(theme.dim);
    p.drawText(r, Qt::AlignVCenter | Qt::AlignLeft,
               p.fontMetrics().elidedText(name, Qt::ElideMiddle, static_cast<int>(room)));
  }
};

Inspector::Inspector(Hub& hub, QWidget* parent) : View(hub, parent) {
  setAccessibleName("Inspector of the selected rank");
  setAttribute(Qt::WA_OpaquePaintEvent);
  late_.setSingleShot(true);
  late_.setInterval(40);
  connect(&late_, &QTimer::timeout, this, qOverload<>(&QWidget::update));
  connect(&hub, &Hub::traceChanged, this, [this] { memory_stale_ = true; });
}

void Inspector::cursorMoved() {
  const std::pair now{hub_.moment(), hub_.selectedRank()};
  if (now == shown_ && !memory_stale_) return;
  shown_ = now;
  late_.start();
}

void Inspector::paintEvent(QPaintEvent*) {
  QPainter painter;
  begin(painter);
  painter.fillRect(page(), theme_->panel);
  Page page(painter, pageWidth(), *theme_);
  page.section("INSPECTOR");
  if (hub_.empty()) {
    page.wrapped("Nothing is recorded yet.", textFont(13), theme_->dim);
    return;
  }
  drawRank(page);
  drawLse(page);
  drawMemory(page);
  drawDiff(page);
  drawDoctor(page);
  const int needed = static_cast<int>(page.y) + 12;
  if (minimumHeight() != needed) setMinimumHeight(needed);
}

void Inspector::drawRank(Page& page) const {
  const RankScene& rank = hub_.scene().ranks.at(static_cast<std::size_t>(hub_.selectedRank()));
  page.text(QString("rank %1 · layer %2 · %3")
                .arg(rank.rank)
                .arg(rank.place.layer)
                .arg(traces::name(rank.place.direction)),
            textFont(17, QFont::DemiBold), theme_->text, 26);
  page.text(QString::fromStdString(rank.attending), textFont(12), theme_->dim, 20);
  page.pair("attends for", describeDuration(rank.attend_ns).c_str(), theme_->text);
  page.pair("waits for KV", describeDuration(rank.wait_ns).c_str(),
            rank.wait_ns > rank.attend_ns / 4 ? theme_->wait : theme_->text);
  page.gap(10);
}

/// Something was attended there, whether or not its log-sum-exp was recorded.
bool Inspector::attended(const Place& place, int rank) const {
  const auto& events = hub_.index().eventsOf(place, rank);
  return std::any_of(events.begin(), events.end(), [&](std::size_t i) {
    return hub_.trace().events(rank)[i].kind == traces::EventKind::kAttend;
  });
}

void Inspector::drawLse(Page& page) const {
  const int selected = hub_.selectedRank();
  const RingScene& scene = hub_.scene();
  Place place = scene.ranks.at(static_cast<std::size_t>(selected)).place;
  const int now = place.stage;
  place.direction = traces::Direction::kForward;
  page.section("LOG-SUM-EXP BY BLOCK, MEAN OF ROWS");
  for (int step = 0; step < scene.ring_steps; ++step) {
    place.stage = static_cast<std::int16_t>(step);
    const auto* block = hub_.trace().findTensor("block_lse", place, selected);
    int source = -1;
    for (const auto i : hub_.index().eventsOf(place, selected))
      if (const auto& e = hub_.trace().events(selected)[i];
          e.source_rank >= 0 && e.kind != traces::EventKind::kReceive) {
        source = e.source_rank;
        break;
      }
    const QRectF r = page.row(31);
    page.p.setFont(monoFont(12));
    page.p.setPen(theme_->dim);
    page.p.drawText(r, Qt::AlignVCenter | Qt::AlignLeft, QString("step %1").arg(step));
    if (source >= 0)
      paintFace(page.p, QRectF(r.left() + 62, r.top() + 3, 66, 24), source,
                QString("KV %1").arg(source), *theme_);
    const bool come = step <= now || hub_.place().direction == traces::Direction::kBackward;
    if (block && come) {
      const QRectF track(r.left() + 140, r.top() + 8, r.width() - 140 - 56, 15);
      page.p.setPen(Qt::NoPen);
      page.p.setBrush(theme_->raised);
      page.p.drawRoundedRect(track, 3, 3);
      const double full = std::max(1.0, std::abs(block->stats.max));
      page.p.setBrush(source >= 0 ? rankBrush(source) : QBrush(theme_->accent));
      page.p.drawRoundedRect(
          QRectF(track.left(), track.top(),
                 track.width() * std::clamp(block->stats.mean / full, 0.02, 1.0), 15),
          3, 3);
      page.p.setFont(monoFont(12));
      page.p.setPen(theme_->text);
      page.p.drawText(r, Qt::AlignVCenter | Qt::AlignRight,
                      QString::number(block->stats.mean, 'f', 2));
    } else {
      page.p.setPen(theme_->dim);
      page.p.setFont(textFont(12));
      page.p.drawText(r.adjusted(140, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                      !come                       ? "to come"
                      : attended(place, selected) ? "not recorded"
                                                  : "nothing attended");
    }
  }
  place.stage = static_cast<std::int16_t>(now);
  if (const auto* running = hub_.trace().findTensor("running_lse", place, selected))
    page.pair("running lse", QString::number(running->stats.mean, 'f', 2), theme_->text);
  page.gap(10);
}

void Inspector::drawMemory(Page& page) {
  const int rank = hub_.selectedRank();
  const auto columns = static_cast<std::size_t>(std::max(40.0, page.w - 2 * kMargin));
  const bool due =
      memory_stale_ && (!hub_.live() || !since_memory_.isValid() || since_memory_.elapsed() > 500);
  if (!memory_ || due || memory_rank_ != rank || memory_->columns.size() != columns) {
    memory_ = memorySeries(hub_.trace(), rank, columns);
    memory_rank_ = rank;
    memory_stale_ = false;
    since_memory_.start();
  }
  page.section(QString("MEMORY, RANK %1").arg(rank));
  if (memory_->peak_bytes == 0) {
    page.text("not recorded", textFont(12), theme_->dim, 22);
    return;
  }
  const QRectF chart = page.row(92);
  const double scale = chart.height() / (1.08 * static_cast<double>(memory_->peak_bytes));
  std::vector<double> base(columns, chart.bottom());
  for (const CategoryStyle& style : kCategoryStyles) {
    QPolygonF area;
    std::vector<double> top = base;
    for (std::size_t c = 0; c < columns; ++c) {
      top[c] -= static_cast<double>(memory_->columns[c][static_cast<std::size_t>(style.category)]) *
                scale;
      area << QPointF(chart.left() + static_cast<double>(c), top[c]);
    }
    for (std::size_t c = columns; c-- > 0;)
      area << QPointF(chart.left() + static_cast<double>(c), base[c]);
    page.p.setPen(Qt::NoPen);
    page.p.setBrush(QColor(style.color));
    page.p.drawPolygon(area);
    base = std::move(top);
  }
  const double x =
      chart.left() + chart.width() * static_cast<double>(hub_.instant()) /
                         static_cast<double>(std::max<std::int64_t>(1, hub_.trace().endNs()));
  page.p.setPen(QPen(theme_->text, 1.5));
  page.p.drawLine(QPointF(x, chart.top()), QPointF(x, chart.bottom()));
  page.gap(6);
  int item = 0;
  QRectF legend;
  for (const CategoryStyle& style : kCategoryStyles) {
    if (item % 3 == 0) legend = page.row(18);
    const double left = legend.left() + legend.width() / 3 * (item++ % 3);
    page.p.fillRect(QRectF(left, legend.top() + 5, 8, 8), QColor(style.color));
    page.p.setPen(theme_->dim);
    page.p.setFont(textFont(11));
    page.p.drawText(QRectF(left + 13, legend.top(), 90, 18), Qt::AlignVCenter, style.title);
  }
  page.pair("peak", describeBytes(memory_->peak_bytes).c_str(), theme_->text);
  page.gap(10);
}

void Inspector::drawDiff(Page& page) const {
  page.section("AGAINST UNSHARDED ATTENTION");
  if (!hub_.worst().overall(hub_.trace())) {
    page.wrapped("not recorded; a run with --verify shows it", textFont(12), theme_->dim);
    page.gap(8);
    return;
  }
  auto line = [&](const char* title, const traces::DiffRecord* worst) {
    if (!worst) return;
    const bool wrong = !(worst->multiple <= traces::kNoiseLimit);
    page.pair(QString("%1 %2 (%3)")
                  .arg(wrong ? "▲" : "✓", title, QString::fromStdString(traces::describe(*worst))),
              QString::fromStdString(traces::describeMultiple(worst->multiple)) + " noise",
              wrong ? theme_->wrong : theme_->right);
  };
  line("isolated", hub_.worst().isolated(hub_.trace()));
  line("end to end", hub_.worst().endToEnd(hub_.trace()));
  page.gap(10);
}

void Inspector::drawDoctor(Page& page) const {
  page.section("DOCTOR");
  if (!hub_.diagnosis()) {
    page.wrapped(hub_.live() ? "looks at the recording when the run has ended" : "looking …",
                 textFont(12), theme_->dim);
    return;
  }
  const auto& diagnosis = *hub_.diagnosis();
  const auto findings = diagnosis.findings();
  if (findings.empty())
    page.text("✓ Nothing found", textFont(14, QFont::DemiBold), theme_->right, 24);
  for (const auto& finding : findings) {
    page.wrapped("▲ " + QString::fromStdString(finding.title), textFont(14, QFont::DemiBold),
                 theme_->wrong);
    page.wrapped(QString::fromStdString(finding.rule + " · " + finding.confidence + " · " +
                                        traces::describe(finding.place)),
                 textFont(11), theme_->dim);
    page.wrapped(QString::fromStdString(finding.evidence), textFont(12), theme_->text);
    page.wrapped("What to change: " + QString::fromStdString(finding.remedy), textFont(12),
                 theme_->text);
    page.gap(6);
  }
  page.text(QString("%1 rules clear · %2 not observable with this capture")
                .arg(diagnosis.count(traces::Verdict::kClear))
                .arg(diagnosis.count(traces::Verdict::kNotObservable)),
            textFont(12), theme_->dim, 22);
}

}  // namespace ringscope::viz
