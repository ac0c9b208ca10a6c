// SPDX-License-Identifier: GPL-3.0-or-later
// The two axes of the Timeline view: as recorded, and the own-device clock, a model.
#include <cmath>

#include "viz/scene/groups.h"
#include "viz/scene/units.h"
#include "viz/views/timeline/timeline_view.h"

namespace ringscope::viz {
namespace {

/// Others on the machine may have kept ranks from the cores that they had.
std::string onCoresOf(const StepAccount& account) {
  std::int64_t cpu_ns = 0, wall_ns = 0;
  for (const RankAccount& rank : account.ranks) {
    cpu_ns += rank.cpu_ns;
    wall_ns += rank.wall_ns;
  }
  if (wall_ns == 0) return {};
  return "By the recorded clock: the ranks' work had its core for " +
         traces::describeShare(static_cast<double>(cpu_ns) / static_cast<double>(wall_ns)) +
         " of its time.";
}

}  // namespace

void TimelineView::makeAxes() {
  const auto axis = [this](const QString& words, const QString& tip) {
    auto* button = new QToolButton(this);
    button->setText(words);
    button->setToolTip(tip);
    button->setCheckable(true);
    button->setAutoExclusive(true);
    connect(button, &QToolButton::clicked, this, &TimelineView::changeAxis);
    return button;
  };
  recorded_axis_ = axis("as recorded", "The run's own clock (O)");
  own_axis_ =
      axis("own devices", "A model: the recorded schedule as if every rank had its own device (O)");
  own_axis_->setAccessibleName("own devices, a model");
  recorded_axis_->setChecked(true);
  box_ = new ClockBox(this);
  box_->setModel(false);
  box_->setHardware(replay_.hardware());
  connect(box_, &ClockBox::hardwareChanged, &replay_, &ClockReplay::setHardware);
  connect(box_->path(), &QCheckBox::toggled, this, [this] { makeChart(); });
  connect(&replay_, &ClockReplay::changed, this, [this] {
    if (!isVisible() || (!ownDevices() && !box_->path()->isChecked())) return;
    if (ownDevices()) keepSelected();
    makeChart();
  });
}

/// Marks, the range and what is selected are of the axis before.
void TimelineView::changeAxis() {
  if (scene_.model == ownDevices()) return;
  box_->setModel(ownDevices());
  state_ = ChartState();
  selected_.reset();
  scene_.selected = scene_.hovered = {};
  fits_step_ = true;
  scroll_panel_ = 0;
  placeControls();
  makeChart();
}

/// On another link the same lies elsewhere.
void TimelineView::keepSelected() {
  scene_.hovered = {};
  const auto now = clock();
  scene_.selected =
      account_clock_ && now ? sameSpan(*account_clock_, *now, scene_.selected) : SpanPlace();
  selected_.reset();
  if (scene_.selected.exists()) selected_ = spanDetails(*now, scene_.selected);
}

void TimelineView::placeControls() {
  const TimelinePage at = parts();
  const auto scaled = [&](const QRectF& box) {
    return QRectF(box.topLeft() * zoom_, box.size() * zoom_).toAlignedRect();
  };
  const double wide = 92, high = 28;
  recorded_axis_->setGeometry(scaled({at.bar.left() + 96, at.bar.top() + 8, wide, high}));
  own_axis_->setGeometry(scaled({at.bar.left() + 96 + wide, at.bar.top() + 8, wide, high}));
  box_->setVisible(!at.controls.isEmpty());
  box_->setWide(ClockBox::isWide(at.controls.width()));
  box_->setGeometry(scaled(at.controls));
}

void TimelineView::findTracks() {
  const std::int32_t step = cursor().place.train_step;
  scene_.model = ownDevices();
  if (scene_.model) {
    replay_.show(viewing_.session, modelledStep());
    findDevices();
    scene_.tracks = replay_.clock() ? replay_.clock()->tracks : nullptr;
    if (!replay_.why().empty()) why_empty_ = replay_.why();
  } else {
    scene_.tracks = viewing_.session.tracks(step);
  }
  scene_.lanes = scene_.tracks ? usedLanes(*scene_.tracks, scene_.ranks) : std::vector<LaneKind>();
}

/// Imported files have no moments that lead to their step.
std::int32_t TimelineView::modelledStep() const {
  const std::int32_t step = cursor().place.train_step;
  if (!viewing_.session.empty()) return step;
  const auto tracks = viewing_.session.tracks(step);
  return tracks->steps.empty() ? step : tracks->steps.front().train_step;
}

void TimelineView::findDevices() {
  if (devices_of_ == replay_.recorded()) return;
  devices_of_ = replay_.recorded();
  if (!devices_of_) return;
  std::vector<traces::DeviceScale> scales;
  for (const auto& preset : traces::devicePresets())
    scales.push_back(traces::deviceScale(*devices_of_, viewing_.session.trace().run(), preset.value,
                                         traces::kDefaultEfficiency));
  box_->setDevices(std::move(scales));
}

void TimelineView::findChain() {
  scene_.chain.reset();
  if (!account_path_) return;
  if (account_clock_) {
    scene_.chain = criticalChain(*account_clock_);
  } else if (!ownDevices() && scene_.tracks) {
    const traces::Trace& trace = viewing_.session.trace();
    replay_.read(viewing_.session, cursor().place.train_step);
    const RecordedStep recorded = replay_.recorded();
    if (!recorded) return;  // it comes later
    scene_.chain = recordedChain(*recorded, scene_.tracks->folds);
    if (!scene_.chain) account_.sections.push_back(whyNoRecordedChain(*recorded, trace));
  }
  if (!scene_.chain) return;
  account_.sections.push_back(chainSection(*scene_.chain));
  if (!account_clock_) account_.sections.back().sentence = onCoresOf(account_);
}

StepAccount TimelineView::accountOnAxis() const {
  if (!ownDevices()) return makeStepAccount(viewing_.session.trace(), cursor());
  if (const auto model = clock()) return makeStepAccount(*model, scene_.ranks);
  StepAccount none;
  none.train_step = cursor().place.train_step;
  none.model = true;
  none.sentence = replay_.why();
  return none;
}

double TimelineView::onAxis(std::int64_t run_ns) const {
  if (const auto model = clock()) return model->modelled(cursor().rank, run_ns);
  return static_cast<double>(scene_.tracks->folds.folded(run_ns));
}

std::int64_t TimelineView::offAxis(double axis_ns, WorldRank rank) const {
  if (const auto model = clock()) return model->recordedAt(rank, axis_ns);
  return scene_.tracks->folds.unfolded(std::llround(axis_ns));
}

std::optional<traces::Event> TimelineView::eventAt(const SpanPlace& place) const {
  if (const auto model = clock()) return spanEvent(*model, place);
  return spanEvent(viewing_.session.trace(), *scene_.tracks, place);
}

SpanDetails TimelineView::detailsAt(const SpanPlace& place) const {
  if (const auto model = clock()) return spanDetails(*model, place);
  const auto event = spanEvent(viewing_.session.trace(), *scene_.tracks, place);
  return event ? spanDetails(*event) : SpanDetails();
}

std::optional<SpanPlace> TimelineView::spanLike(const TrackQuery& query, double from_ns,
                                                bool back) const {
  if (const auto model = clock())
    return findSpan([&](const SpanPlace& at) { return spanEvents(*model, at); }, *scene_.tracks,
                    scene_.ranks, query, from_ns, back);
  return findSpan(viewing_.session.trace(), *scene_.tracks, scene_.ranks, query, from_ns, back);
}

}  // namespace ringscope::viz
