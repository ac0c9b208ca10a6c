// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/tracks.h"

#include <algorithm>
#include <limits>

#include "traces/format/trace/steps.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;

namespace {

std::int16_t narrow(WorldRank rank) {
  constexpr int kMost = std::numeric_limits<std::int16_t>::max();
  return static_cast<std::int16_t>(rank.value() > kMost ? -1 : rank.value());
}

Span spanOf(const Event& event, const Stretch& at) {
  Span span;
  span.begin_ns = at.begin_ns;
  span.end_ns = std::max(at.begin_ns, at.end_ns);
  span.source = narrow(event.source_rank);
  span.peer_index = narrow(event.peer);
  span.kind = static_cast<std::uint8_t>(event.kind);
  span.payload = static_cast<std::uint8_t>(event.payload);
  span.shade = eventShade(event);
  return span;
}

}  // namespace

const RankTracks* Tracks::of(WorldRank rank) const {
  return rank.exists() && rank.index() < ranks.size() ? &ranks[rank.index()] : nullptr;
}

const StepTrack* Tracks::step(std::int32_t train_step) const {
  const auto at = std::ranges::lower_bound(steps, train_step, {}, &StepTrack::train_step);
  return at != steps.end() && at->train_step == train_step ? &*at : nullptr;
}

const StepTrack* Tracks::stepAt(double axis_ns) const {
  const StepTrack* found = nullptr;
  const auto after = std::ranges::upper_bound(
      steps, axis_ns, {}, [](const StepTrack& step) { return static_cast<double>(step.begin_ns); });
  if (after != steps.begin()) found = &*std::prev(after);
  return found;
}

Stretch recordedTime(const Event& event) {
  return {event.begin_ns, event.end_ns};
}

void TracksBuilder::take(const Event& event) {
  if (event.kind == EventKind::kReceive || event.rank.isNone()) return;
  while (tracks_->ranks.size() <= event.rank.index()) {
    tracks_->ranks.emplace_back().rank = WorldRank::of(tracks_->ranks.size());
    pauses_.emplace_back();
  }
  const Span span = spanOf(event, axis_(event));
  if (event.kind == EventKind::kPause)
    pauses_[event.rank.index()].push_back({span.begin_ns, span.end_ns});
  const LaneKind lane = eventLane(event);
  tracks_->ranks[event.rank.index()].lanes[static_cast<std::size_t>(lane)].add(span, event.bytes);
  count(event, span);
}

void TracksBuilder::count(const Event& event, const Span& span) {
  StepTrack& step = stepTrack(event.place.train_step);
  step.begin_ns = std::min(step.begin_ns, span.begin_ns);
  step.end_ns = std::max(step.end_ns, span.end_ns);
  if (span.shade != Shade::kMessage)
    step.busy_ns[static_cast<std::size_t>(span.shade)] += static_cast<float>(span.length());
  ++tracks_->spans;
}

/// Ranks are never far apart, so it is nearly always the one before.
StepTrack& TracksBuilder::stepTrack(std::int32_t train_step) {
  if (last_ && last_->train_step == train_step) return *last_;
  last_ = &steps_[train_step];
  last_->train_step = train_step;
  return *last_;
}

void TracksBuilder::fold() {
  std::vector<std::vector<TimeFold>> held;
  for (std::size_t rank = 0; rank < pauses_.size(); ++rank)
    if (tracks_->ranks[rank].lanes.front().size() > 0) held.push_back(std::move(pauses_[rank]));
  tracks_->folds = TimeFolds(heldByAll(held));
  if (tracks_->folds.empty()) return;
  const auto folded = [&](std::int64_t ns) { return tracks_->folds.folded(ns); };
  for (RankTracks& rank : tracks_->ranks)
    for (SpanTree& lane : rank.lanes) lane.moveTimes(folded);
  for (auto& [train_step, step] : steps_) {
    step.begin_ns = folded(step.begin_ns);
    step.end_ns = folded(step.end_ns);
  }
}

std::shared_ptr<const Tracks> TracksBuilder::finish(bool whole) {
  tracks_->whole = whole;
  fold();
  for (RankTracks& rank : tracks_->ranks)
    for (SpanTree& lane : rank.lanes) lane.finish();
  for (const auto& [train_step, step] : steps_) tracks_->steps.push_back(step);
  if (!tracks_->steps.empty()) {
    tracks_->begin_ns = std::numeric_limits<std::int64_t>::max();
    tracks_->end_ns = std::numeric_limits<std::int64_t>::min();
  }
  for (const StepTrack& step : tracks_->steps) {
    tracks_->begin_ns = std::min(tracks_->begin_ns, step.begin_ns);
    tracks_->end_ns = std::max(tracks_->end_ns, step.end_ns);
  }
  return tracks_;
}

std::shared_ptr<const Tracks> makeTracks(const traces::Trace& trace) {
  TracksBuilder builder;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(WorldRank::of(rank))) builder.take(event);
  return builder.finish();
}

std::shared_ptr<const Tracks> makeTracks(const traces::Trace& trace, std::int32_t first_step,
                                         std::int32_t last_step) {
  TracksBuilder builder;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.eventsAt(traces::firstPlaceIn(first_step),
                                             traces::lastPlaceIn(last_step), WorldRank::of(rank)))
      builder.take(event);
  return builder.finish(false);
}

}  // namespace ringscope::viz
