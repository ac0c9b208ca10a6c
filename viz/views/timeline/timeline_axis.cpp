// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_axis.h"

#include <cmath>

#include "traces/format/core/prose.h"

namespace ringscope::viz {
namespace {

/// Other programs on the machine may have kept ranks from their cores.
std::string describeCores(const StepAccount& account) {
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

TimelineAxis::TimelineAxis(Viewing& viewing, QWidget* view) : QObject(view), viewing_(viewing) {
  const auto axis = [this, view](const QString& words, const QString& tip) {
    auto* button = new QToolButton(view);
    button->setText(words);
    button->setToolTip(tip);
    button->setCheckable(true);
    button->setAutoExclusive(true);
    connect(button, &QToolButton::clicked, this, [this] {
      box_->setModel(ownDevices());
      Q_EMIT chosen();
    });
    return button;
  };
  recorded_ = axis("as recorded", "The run's own clock (O)");
  own_ =
      axis("own devices", "A model: the recorded schedule as if every rank had its own device (O)");
  own_->setAccessibleName("own devices, a model");
  recorded_->setChecked(true);
  box_ = new ClockBox(view);
  box_->setModel(false);
  box_->setHardware(replay_.hardware());
  connect(box_, &ClockBox::hardwareChanged, &replay_, &ClockReplay::setHardware);
  connect(box_->path(), &QCheckBox::toggled, this, [this] { Q_EMIT remade(false); });
  connect(&replay_, &ClockReplay::changed, this, [this, view] {
    if (view->isVisible() && (ownDevices() || showsPath())) Q_EMIT remade(ownDevices());
  });
}

void TimelineAxis::place(const TimelinePage& at, double zoom) {
  const auto scaled = [&](const QRectF& box) {
    return QRectF(box.topLeft() * zoom, box.size() * zoom).toAlignedRect();
  };
  const double wide = 92, high = 28;
  recorded_->setGeometry(scaled({at.bar.left() + 96, at.bar.top() + 8, wide, high}));
  own_->setGeometry(scaled({at.bar.left() + 96 + wide, at.bar.top() + 8, wide, high}));
  box_->setVisible(!at.controls.isEmpty());
  box_->setWide(ClockBox::isWide(at.controls.width()));
  box_->setGeometry(scaled(at.controls));
}

void TimelineAxis::findTracks(TimelineState& state) {
  ChartScene& scene = state.scene;
  scene.model = ownDevices();
  if (scene.model) {
    replay_.show(viewing_.session, modelledStep());
    findDevices();
    scene.tracks = replay_.clock() ? replay_.clock()->tracks : nullptr;
    if (!replay_.why().empty()) state.why_empty = replay_.why();
  } else {
    scene.tracks = viewing_.session.tracks(viewing_.navigator.cursor().place.train_step);
  }
  scene.lanes = scene.tracks ? usedLanes(*scene.tracks, scene.ranks) : std::vector<LaneKind>();
}

/// Imported files have no moments that lead to their step.
std::int32_t TimelineAxis::modelledStep() const {
  const std::int32_t step = viewing_.navigator.cursor().place.train_step;
  if (!viewing_.session.trace().moments().empty()) return step;
  const auto tracks = viewing_.session.tracks(step);
  return tracks->steps.empty() ? step : tracks->steps.front().train_step;
}

void TimelineAxis::findDevices() {
  if (devices_of_ == replay_.recorded()) return;
  devices_of_ = replay_.recorded();
  if (!devices_of_) return;
  std::vector<traces::DeviceScale> scales;
  for (const auto& preset : traces::devicePresets())
    scales.push_back(traces::deviceScale(*devices_of_, viewing_.session.trace().run(), preset.value,
                                         traces::kDefaultEfficiency));
  box_->setDevices(std::move(scales));
}

std::shared_ptr<const CriticalChain> TimelineAxis::findChain(const ChartScene& scene,
                                                             StepAccount& account) {
  if (!showsPath()) return nullptr;
  std::shared_ptr<const CriticalChain> chain;
  const auto model = clock();
  if (model) {
    chain = criticalChain(*model);
  } else if (!ownDevices() && scene.tracks) {
    replay_.read(viewing_.session, viewing_.navigator.cursor().place.train_step);
    const RecordedStep recorded = replay_.recorded();
    if (!recorded) return nullptr;  // remade() follows
    chain = recordedChain(*recorded, scene.tracks->folds);
    if (!chain) account.sections.push_back(whyNoRecordedChain(*recorded, viewing_.session.trace()));
  }
  if (!chain) return nullptr;
  account.sections.push_back(chainSection(*chain));
  if (!model) account.sections.back().sentence = describeCores(account);
  return chain;
}

StepAccount TimelineAxis::account(const ChartScene& scene) const {
  const Cursor& cursor = viewing_.navigator.cursor();
  if (!ownDevices()) return makeStepAccount(viewing_.session.trace(), cursor);
  if (const auto model = clock()) return makeStepAccount(*model, scene.ranks);
  StepAccount none;
  none.train_step = cursor.place.train_step;
  none.model = true;
  none.sentence = replay_.why();
  return none;
}

double TimelineAxis::onAxis(std::int64_t run_ns, const ChartScene& scene) const {
  if (const auto model = clock()) return model->modelled(viewing_.navigator.cursor().rank, run_ns);
  return static_cast<double>(scene.tracks->folds.folded(run_ns));
}

std::int64_t TimelineAxis::offAxis(double axis_ns, WorldRank rank, const ChartScene& scene) const {
  if (const auto model = clock()) return model->recordedAt(rank, axis_ns);
  return scene.tracks->folds.unfolded(std::llround(axis_ns));
}

std::optional<traces::Event> TimelineAxis::eventAt(const SpanPlace& place,
                                                   const ChartScene& scene) const {
  if (const auto model = clock()) return spanEvent(*model, place);
  return spanEvent(viewing_.session.trace(), *scene.tracks, place);
}

SpanDetails TimelineAxis::detailsAt(const SpanPlace& place, const ChartScene& scene) const {
  if (const auto model = clock()) return spanDetails(*model, place);
  const auto event = spanEvent(viewing_.session.trace(), *scene.tracks, place);
  return event ? spanDetails(*event) : SpanDetails();
}

std::optional<SpanPlace> TimelineAxis::find(const TrackQuery& query, double from_ns, bool back,
                                            const ChartScene& scene) const {
  if (const auto model = clock())
    return findSpan([&](const SpanPlace& at) { return spanEvents(*model, at); }, *scene.tracks,
                    scene.ranks, query, from_ns, back);
  return findSpan(viewing_.session.trace(), *scene.tracks, scene.ranks, query, from_ns, back);
}

}  // namespace ringscope::viz
