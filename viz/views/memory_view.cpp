// SPDX-License-Identifier: GPL-3.0-or-later
#include <QAreaSeries>
#include <QChart>
#include <QChartView>
#include <QElapsedTimer>
#include <QHBoxLayout>
#include <QLineSeries>
#include <QMouseEvent>
#include <QScatterSeries>
#include <QValueAxis>
#include <cmath>

#include "viz/scene/memory_law.h"
#include "viz/style/category_style.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

constexpr std::size_t kColumns = 300;
constexpr double kMiB = 1 << 20;
constexpr int kLegend = 56;  // height
constexpr int kMostRanks = 16;

/// A chart on which a click leads to a point.
class ClickableChart : public QChartView {
 public:
  ClickableChart(QWidget* parent, std::function<void(QPointF)> clicked)
      : QChartView(parent), clicked_(std::move(clicked)) {
    setRenderHint(QPainter::Antialiasing);
    setFrameShape(QFrame::NoFrame);
  }

 protected:
  void mousePressEvent(QMouseEvent* event) override {
    clicked_(chart()->mapToValue(event->position()));
  }

 private:
  std::function<void(QPointF)> clicked_;
};

/// Memory of the selected rank by category over the run, its peak and why, and beside it the law:
/// what one device would need, and what P ranks need each.
class MemoryView : public View {
 public:
  MemoryView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Memory: bytes of the selected rank by category, peak and law");
    setMinimumSize(320, 240);
    over_time_ = new ClickableChart(
        this, [this](QPointF at) { hub_.setInstant(static_cast<std::int64_t>(at.x() * 1e6)); });
    law_ = new ClickableChart(this, [](QPointF) {});
    over_time_->setAccessibleName("Memory over time");
    law_->setAccessibleName("Memory by number of ranks");
    for (auto* view : {over_time_, law_}) view->setFocusPolicy(Qt::NoFocus);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 76, 8, kLegend);
    row->addWidget(over_time_, 3);
    row->addWidget(law_, 2);
    connect(&hub, &Hub::traceChanged, this, [this] { stale_ = true; });
  }

 protected:
  void themeChanged() override {
    stale_ = true;
    layout()->setContentsMargins(8, static_cast<int>(76 * zoom_), 8,
                                 static_cast<int>(kLegend * zoom_));
  }

  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    rebuildIfDue();
    const bool recorded = peak_.bytes > 0;
    over_time_->setVisible(recorded);
    law_->setVisible(recorded);
    if (!recorded)
      return note(p, page(),
                  "No memory is recorded. A run of this engine with --trace would show it.");
    p.setPen(theme_->text);
    p.setFont(textFont(17, QFont::DemiBold));
    p.drawText(
        QRectF(24, 12, pageWidth() - 48, 24), Qt::AlignVCenter,
        QString("rank %1 holds at most %2").arg(rank_).arg(describeBytes(peak_.bytes).c_str()));
    p.setPen(theme_->dim);
    p.setFont(textFont(13));
    p.drawText(QRectF(24, 38, pageWidth() - 48, 36), Qt::AlignTop | Qt::TextWordWrap,
               "At the peak: " + QString::fromStdString(peak_.cause) +
                   ". Click the chart to go to a moment.");
    drawLegends(p);
    moveNow();
  }

  void cursorMoved() override {
    // Charts are slow to draw; the line may lag behind a playing ring by a tenth of a second.
    const std::pair now{hub_.moment(), hub_.selectedRank()};
    if (now == shown_ && since_shown_.isValid() && since_shown_.elapsed() < 100) return;
    shown_ = now;
    since_shown_.start();
    update();
  }

 private:
  void drawLegends(QPainter& p) const {
    const double top = pageHeight() - kLegend + 6, split = pageWidth() * 0.6;
    QPointF at(64, top);
    for (const CategoryStyle& style : kCategoryStyles)
      drawKey(p, at, style.title, QColor(style.color), Qt::NoPen, split - 16, 64);
    at = {split + 56, top};
    drawKey(p, at, "sharded over P", theme_->accent, Qt::SolidLine, pageWidth() - 8, split + 56);
    drawKey(p, at, "unsharded", theme_->dim, Qt::DashLine, pageWidth() - 8, split + 56);
    drawKey(p, at, "kept whole by each", theme_->dim, Qt::DotLine, pageWidth() - 8, split + 56);
  }
  /// A swatch or a line, and its words; goes to the next row where there is no room.
  void drawKey(QPainter& p, QPointF& at, const QString& words, const QColor& color,
               Qt::PenStyle line, double right, double left) const {
    p.setFont(textFont(12));
    const double w = p.fontMetrics().horizontalAdvance(words) + 24;
    if (at.x() + w > right) at = {left, at.y() + 20};
    if (line == Qt::NoPen) {
      p.fillRect(QRectF(at.x(), at.y() + 5, 9, 9), color);
    } else {
      p.setPen(QPen(color, 2, line));
      p.drawLine(QPointF(at.x() - 6, at.y() + 10), QPointF(at.x() + 10, at.y() + 10));
    }
    p.setPen(theme_->dim);
    p.drawText(QRectF(at.x() + 15, at.y(), w, 20), Qt::AlignVCenter, words);
    at.rx() += w + 10;
  }

  void rebuildIfDue() {
    const bool other = rank_ != hub_.selectedRank();
    const bool due = stale_ && (!hub_.live() || !since_built_.isValid() ||
                                since_built_.elapsed() > 500 || peak_.bytes == 0);
    if (hub_.trace().worldSize() == 0 || (!other && !due)) return;
    rank_ = hub_.selectedRank();
    stale_ = false;
    since_built_.start();
    peak_ = memoryPeak(hub_.trace(), rank_);
    if (peak_.bytes == 0) return;
    buildOverTime();
    buildLaw();
  }

  QValueAxis* axis(QChart* chart, Qt::Alignment side, const QString& title, double low, double high,
                   const char* format) const {
    auto* a = new QValueAxis(chart);
    a->setRange(low, high);
    a->setLabelFormat(format);
    a->setTitleText(title);
    a->setTitleFont(textFont(size(12)));
    a->setTitleBrush(theme_->dim);
    a->setLabelsFont(monoFont(size(11)));
    a->setLabelsColor(theme_->dim);
    a->setGridLineColor(theme_->line);
    a->setLinePenColor(theme_->line);
    chart->addAxis(a, side);
    if (side == Qt::AlignLeft) a->applyNiceNumbers();
    return a;
  }
  int size(int pixels) const { return static_cast<int>(pixels * zoom_); }

  QChart* freshChart(const QString& title) const {
    auto* chart = new QChart;
    chart->setTitle(title);
    chart->setTitleFont(textFont(size(13), QFont::DemiBold));
    chart->setTitleBrush(theme_->text);
    chart->setBackgroundBrush(theme_->background);
    chart->setBackgroundRoundness(0);
    chart->setMargins(QMargins(4, 4, 4, 4));
    chart->legend()->hide();  // it cuts its words short; drawLegends() has room for them
    return chart;
  }

  static void show(QChartView* view, QChart* chart) {
    QChart* previous = view->chart();
    view->setChart(chart);
    delete previous;
  }

  void buildOverTime() {
    auto* chart = freshChart("Over the run");
    const MemorySeries series = memorySeries(hub_.trace(), rank_, kColumns);
    const double end_ms = static_cast<double>(hub_.trace().endNs()) * 1e-6;
    top_ = 1.08 * static_cast<double>(peak_.bytes) / kMiB;
    auto* x = axis(chart, Qt::AlignBottom, "ms since the run began", 0, end_ms, "%.0f");
    auto* y = axis(chart, Qt::AlignLeft, "MiB", 0, top_, "%.1f");
    auto attach = [&](QAbstractSeries* s) {
      chart->addSeries(s);
      s->attachAxis(x);
      s->attachAxis(y);
    };
    std::vector<double> base(kColumns, 0);
    QLineSeries* lower = nullptr;
    for (const CategoryStyle& style : kCategoryStyles) {
      auto* upper = new QLineSeries(chart);
      for (std::size_t c = 0; c < kColumns; ++c) {
        base[c] +=
            static_cast<double>(series.columns[c][static_cast<std::size_t>(style.category)]) / kMiB;
        upper->append(end_ms * (static_cast<double>(c) + 0.5) / kColumns, base[c]);
      }
      auto* area = new QAreaSeries(upper, lower);
      area->setColor(QColor(style.color));
      area->setPen(Qt::NoPen);
      attach(area);
      lower = upper;
    }
    auto* peak = new QScatterSeries;
    peak->append(static_cast<double>(peak_.time_ns) * 1e-6,
                 static_cast<double>(peak_.bytes) / kMiB);
    peak->setColor(theme_->accent);
    peak->setBorderColor(theme_->text);
    peak->setMarkerSize(10);
    attach(peak);
    now_ = new QLineSeries;
    now_->setPen(QPen(theme_->text, 1.5));
    attach(now_);
    show(over_time_, chart);
  }

  void buildLaw() {
    auto* chart = freshChart("The law: L / P");
    const int ranks = hub_.trace().worldSize();
    const MemoryLaw law = memoryLaw(peak_, ranks);
    const double highest = 1.1 * law.bytesAt(1) / kMiB;
    const int most = std::max(kMostRanks, ranks);
    auto* x = axis(chart, Qt::AlignBottom, "ranks P", 1, most, "%.0f");
    x->setTickCount(most <= 16 ? 6 : 5);
    auto* y = axis(chart, Qt::AlignLeft, "MiB a rank", 0, highest, "%.1f");
    auto line = [&](const QColor& color, Qt::PenStyle style, auto value) {
      auto* s = new QLineSeries;

      s->setPen(QPen(color, 2, style));
      for (double p = 1; p <= most; p += 0.25) s->append(p, value(p) / kMiB);
      chart->addSeries(s);
      s->attachAxis(x);
      s->attachAxis(y);
    };
    line(theme_->dim, Qt::DashLine, [&](double) { return law.bytesAt(1); });
    line(theme_->accent, Qt::SolidLine, [&](double p) { return law.bytesAt(p); });
    line(theme_->dim, Qt::DotLine, [&](double) { return law.replicated_bytes; });
    auto* here = new QScatterSeries;
    here->append(ranks, static_cast<double>(peak_.bytes) / kMiB);
    here->setColor(theme_->accent);
    here->setBorderColor(theme_->text);
    here->setMarkerSize(11);
    chart->addSeries(here);
    here->attachAxis(x);
    here->attachAxis(y);
    show(law_, chart);
  }

  void moveNow() {
    if (!now_) return;
    const double x = static_cast<double>(hub_.instant()) * 1e-6;
    const QList<QPointF> points{{x, 0}, {x, top_}};
    if (now_->points() != points) now_->replace(points);
  }

  ClickableChart *over_time_, *law_;
  QLineSeries* now_ = nullptr;  // owned by its chart
  MemoryPeak peak_;
  double top_ = 1;
  int rank_ = -1;
  bool stale_ = true;
  QElapsedTimer since_built_, since_shown_;
  std::pair<int, int> shown_{-1, -1};
};

}  // namespace

View* makeMemoryView(Hub& hub, QWidget* parent) {
  return new MemoryView(hub, parent);
}

}  // namespace ringscope::viz
