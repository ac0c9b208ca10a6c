// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_view.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/scene/groups.h"
#include "viz/scene/units.h"
#include "viz/views/timeline/account_painter.h"
#include "viz/views/timeline/overview_painter.h"
#include "viz/views/timeline/rank_caption_scene.h"

namespace ringscope::viz {

TimelineView::TimelineView(Viewing& viewing, QWidget* parent)
    : View(viewing, "Timeline: a lane a rank, from the whole run to nanoseconds", parent),
      throttle_(this, viewing.session, [this] { guard([this] { makeChart(); }); }) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  makeAxes();
  makeBar();
  reading_.setInterval(200);
  connect(&reading_, &QTimer::timeout, this, [this] { update(); });
}

void TimelineView::makeBar() {
  search_ = new QLineEdit(this);
  search_->setAccessibleName("Search the timeline");
  search_->setPlaceholderText("search: wait > 1 ms, kv 2 layer 1 …");
  search_->setToolTip(
      "A kind (attend, wait, send, merge, project, …), kv N, rank N, step N, layer N, forward, "
      "backward, > N ms. Enter: the next one; Shift+Enter: the one before.");
  search_->installEventFilter(this);
  found_ = new QLabel(this);
  found_->setObjectName("dim");
  found_->setTextFormat(Qt::PlainText);
}

TimelinePage TimelineView::parts() const {
  const bool own = ownDevices();
  return timelinePage(page(), legendHeight, ClockBox::neededHeight(own, false),
                      own ? ClockBox::neededHeight(own, ClockBox::isWide(page().width())) : 0);
}

ChartLayout TimelineView::chart() const {
  return chartLayout(parts().chart, scene_, scroll_ranks_);
}

Cursor TimelineView::watched(Cursor cursor) const {
  Cursor seen;
  seen.group = cursor.group;
  seen.rank = cursor.rank;
  seen.place.train_step = cursor.place.train_step;
  return seen;
}

void TimelineView::refresh() {
  throttle_.request();
}

TimeWindow TimelineView::all() const {
  return scene_.empty() ? TimeWindow{0, 1} : scene_.tracks->all();
}

TimeWindow TimelineView::stepWindow() const {
  if (scene_.empty()) return all();
  const StepTrack* step = scene_.tracks->step(cursor().place.train_step);
  return (step && step->end_ns > step->begin_ns ? step->window() : all()).withMargin();
}

void TimelineView::makeChart() {
  const Session& session = viewing_.session;
  const bool other = recording_ != session.recording(),
             read_again = generation_ != session.generation();
  recording_ = session.recording();
  generation_ = session.generation();
  why_empty_ = session.live() ? "The first events of the run are awaited."
                              : "No events are recorded: nothing says what happened when.";
  scene_.ranks = groupRanks(session.trace(), cursor().group);
  findTracks();
  scene_.selected_rank = cursor().rank;
  const StepTrack* step = scene_.tracks ? scene_.tracks->step(cursor().place.train_step) : nullptr;
  scene_.origin_ns = step ? static_cast<double>(step->begin_ns) : 0;
  if (read_again) {
    selected_.reset();
    scene_.selected = scene_.hovered = {};
  }
  if (other) {
    state_ = ChartState();
    fits_step_ = true;
    scroll_ranks_ = scroll_panel_ = 0;
  }
  if (fits_step_) state_.show(stepWindow(), all());
  makeAccount();
  session.tracksRead() < 1 ? reading_.start() : reading_.stop();
  overview_ = QPixmap();
  afterMove();
  update();
  moved();
}

void TimelineView::makeAccount() {
  const Cursor of = watched(cursor());
  const auto model = clock();
  const bool path = box_->path()->isChecked();
  if (account_of_ == of && account_version_ == viewing_.session.version() &&
      account_clock_ == model && account_path_ == path && account_model_ == ownDevices() &&
      account_step_ == replay_.recorded())
    return;
  account_of_ = of;
  account_version_ = viewing_.session.version();
  account_clock_ = model;
  account_path_ = path;
  account_model_ = ownDevices();
  account_ = accountOnAxis();
  findChain();
  account_step_ = replay_.recorded();
  scene_.captions.clear();
  if (account_.timed)
    for (const RankAccount& rank : account_.ranks)
      scene_.captions.push_back(rankCaption(rank, account_.model));
  describe(account_.sentence);
}

/// The viewed instant stays in sight while it moves on by itself.
void TimelineView::moved() {
  if (scene_.empty()) return;
  const double before = scene_.instant_ns;
  scene_.instant_ns = onAxis(viewing_.navigator.instant());
  const TimeWindow& window = state_.window();
  const auto inside = [&](double ns) { return ns >= window.begin_ns && ns <= window.end_ns; };
  if (inside(before) && !inside(scene_.instant_ns) && drag_ == Drag::kNone)
    state_.reveal(scene_.instant_ns, all());
  afterMove();
}

/// Only lanes and overview change with the window.
void TimelineView::afterMove() {
  scene_.window = state_.window();
  scene_.marks = state_.marks();
  scene_.range = state_.range();
  scene_.range_words = scene_.range && scene_.tracks
                           ? rangeWords(measureRange(*scene_.tracks, scene_.ranks, *scene_.range))
                           : std::string();
  if (scene_.model && !scene_.range_words.empty()) scene_.range_words += " · model";
  const TimelinePage at = parts();
  const auto scaled = [&](const QRectF& part) {
    return QRectF(part.topLeft() * zoom_, part.size() * zoom_).toAlignedRect();
  };
  update(QRegion(scaled(at.chart)) + scaled(at.overview));
}

void TimelineView::setWindow(const TimeWindow& window) {
  fits_step_ = false;
  state_.show(window, all());
  afterMove();
}

void TimelineView::themeChanged() {
  overview_ = QPixmap();
  canvas_ = {};
  resizeEvent(nullptr);
}

void TimelineView::resizeEvent(QResizeEvent*) {
  overview_ = QPixmap();
  const QRectF bar = parts().bar;
  const double wide = std::clamp(bar.width() * 0.26, 150.0, 248.0);
  const QRectF box(bar.right() - 20 - wide, bar.top() + 8, wide, 28);
  search_->setGeometry(QRectF(box.topLeft() * zoom_, box.size() * zoom_).toAlignedRect());
  const QRectF words(box.left() - 190, box.top(), 180, box.height());
  found_->setGeometry(QRectF(words.topLeft() * zoom_, words.size() * zoom_).toAlignedRect());
  found_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  placeControls();
}

void TimelineView::paintBar(QPainter& p, const QRectF& area) const {
  p.setFont(partFont());
  p.setPen(theme_->dim);
  const double middle = area.top() + 22;
  p.drawText(QRectF(area.left() + 20, middle - 10, 76, 20), Qt::AlignVCenter, "AXIS");
  double x = own_axis_->geometry().right() / zoom_ + 12;
  const auto chip = [&](const QString& words, const QColor& line, const QColor& ink, bool filled) {
    p.setFont(textFont(12, filled ? QFont::DemiBold : QFont::Normal));
    const QRectF box(x, middle - 12, p.fontMetrics().horizontalAdvance(words) + 22, 24);
    if (box.right() > search_->x() / zoom_ - 8 && !filled) return false;
    p.setPen(filled ? QPen(Qt::NoPen) : QPen(line, 1));
    p.setBrush(filled ? QBrush(line) : QBrush(Qt::NoBrush));
    p.drawRoundedRect(box, 12, 12);
    p.setPen(ink);
    p.drawText(box, Qt::AlignCenter, words);
    x = box.right() + 10;
    return true;
  };
  if (ownDevices()) {
    chip("◆ model, not a measurement", theme_->wait, theme_->wait, false) ||
        chip("◆ model", theme_->wait, theme_->wait, false);
    if (replay_.replaying()) chip("replaying …", theme_->line, theme_->text, false);
    return;
  }
  const double read = viewing_.session.tracksRead();
  if (read < 1)
    chip(QString("reading events: %1 %").arg(std::lround(read * 100)), theme_->line, theme_->text,
         false);
  if (account_.shared_cores &&
      !chip("◆ virtual ranks: waits are the scheduler’s", theme_->wait, theme_->wait, false))
    chip("◆ virtual ranks", theme_->wait, theme_->wait, false);
}

/// All but lanes and overview. `dirty`: what has to be drawn of it; empty: all.
void TimelineView::paintAround(QPainter& p, const QRectF& page, const QRegion& dirty) {
  const TimelinePage at = parts();
  const auto is_dirty = [&](const QRectF& part) {
    return !part.isEmpty() && (dirty.isEmpty() || dirty.intersects(part.toAlignedRect()));
  };
  QRegion ground = QRegion(page.toAlignedRect()) - at.overview.toAlignedRect();
  if (!scene_.empty()) ground -= at.chart.toAlignedRect().adjusted(1, 1, -1, -1);
  for (const QRect& part : dirty.isEmpty() ? ground : ground& dirty)
    p.fillRect(part, theme_->panel);
  if (is_dirty(at.bar)) paintBar(p, at.bar);
  if (is_dirty(at.legend)) {
    if (scene_.model) paintModelLabel(p, at.legend, *theme_);
    paintLegend(p, at.legend, *theme_);
  }
  if (is_dirty(at.sentence) && !(scene_.model && scene_.empty())) {
    write(p, at.sentence.adjusted(20, 4, -20, -4), QString::fromStdString(account_.sentence),
          textFont(13, QFont::Medium), theme_->text, Qt::AlignVCenter | Qt::TextWordWrap);
  }
  if (!at.panel.isEmpty() && is_dirty(at.controls))
    p.fillRect(QRectF(at.panel.left(), at.controls.top(), 1, at.controls.height()), theme_->line);
  if (!is_dirty(at.panel)) return;
  p.setClipRect(at.panel);
  p.fillRect(QRectF(at.panel.left(), at.panel.top(), 1, at.panel.height()), theme_->line);
  panel_height_ = paintAccount(p, at.panel.translated(0, -scroll_panel_), account_,
                               selected_ ? &*selected_ : nullptr, *theme_);
}

/// Its steps change only with the recording, and there may be thousands.
void TimelineView::paintOverviewKept(QPainter& painter, const QRectF& area) {
  const double density = devicePixelRatioF() * zoom_;
  const QSize size = (area.size() * density).toSize().expandedTo({1, 1});
  if (overview_.size() != size) {
    overview_ = QPixmap(size);
    overview_.setDevicePixelRatio(density);
    overview_.fill(theme_->panel);
    QPainter p(&overview_);
    p.setRenderHint(QPainter::Antialiasing);
    paintOverview(p, QRectF(QPointF(0, 0), area.size()), scene_, *theme_);
  }
  painter.drawPixmap(area.topLeft(), overview_);
  paintOverviewWindow(painter, area, scene_, *theme_);
}

void TimelineView::paint(QPainter& painter, const QRectF& page, const QRegion& dirty) {
  const TimelinePage at = parts();
  const bool whole = dirty.isEmpty();
  painter.save();
  paintAround(painter, page, dirty);
  painter.restore();
  if (whole || dirty.intersects(at.overview.toAlignedRect()))
    paintOverviewKept(painter, at.overview);
  if (scene_.empty()) return paintNote(painter, at.chart, why_empty_, *theme_);
  if (whole || dirty.intersects(at.chart.toAlignedRect()))
    paintChart(painter, chart(), scene_, canvas_, *theme_);
}

View* makeTimelineView(Viewing& viewing, QWidget* parent) {
  return new TimelineView(viewing, parent);
}

}  // namespace ringscope::viz
