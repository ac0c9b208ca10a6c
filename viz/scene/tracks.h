// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "traces/analysis/account/time_folds.h"
#include "viz/maths/span_tree.h"
#include "viz/maths/time_window.h"
#include "viz/scene/data.h"

namespace ringscope::viz {

using traces::kLaneKinds;
using traces::LaneKind;
using traces::TimeFold;
using traces::TimeFolds;

/// All of one rank's time.
struct RankTracks {
  WorldRank rank = WorldRank::of(0);
  std::array<SpanTree, kLaneKinds> lanes;

  const SpanTree& lane(LaneKind kind) const { return lanes[static_cast<std::size_t>(kind)]; }
};

/// One training step of all ranks. Times are on the axis.
struct StepTrack {
  std::int32_t train_step = 0;
  std::int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
  std::array<float, kShades> busy_ns{};  ///< of all ranks' own threads

  TimeWindow window() const { return {static_cast<double>(begin_ns), static_cast<double>(end_ns)}; }
};

/// The spans of every rank of a recording on one axis of time. Immutable once made, so that any
/// thread may make it. The times of spans are on the axis; folds lead back to the clock of the run.
struct Tracks {
  std::vector<RankTracks> ranks;  ///< by rank
  std::vector<StepTrack> steps;   ///< ascending
  TimeFolds folds;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< equal: nothing is recorded
  std::size_t spans = 0;
  bool whole = true;  ///< of the whole recording, not of a few training steps

  bool empty() const { return end_ns <= begin_ns; }
  TimeWindow all() const { return {static_cast<double>(begin_ns), static_cast<double>(end_ns)}; }
  /// Null: not recorded.
  const RankTracks* of(WorldRank rank) const;
  const StepTrack* step(std::int32_t train_step) const;
  /// The last step that begins before a point of the axis; null: there is none.
  const StepTrack* stepAt(double axis_ns) const;
};

/// From where to where an event lies on an axis.
struct Stretch {
  std::int64_t begin_ns = 0, end_ns = 0;
};
/// An axis: recordedTime, or where a model puts an event. Each rank's events come in the order of
/// recording.
using TrackAxis = std::function<Stretch(const traces::Event&)>;
Stretch recordedTime(const traces::Event& event);

/// Makes tracks of events. Events that were recorded twice or lie backwards in time are taken as
/// they are. An event without length is a point.
class TracksBuilder {
 public:
  explicit TracksBuilder(TrackAxis axis = recordedTime) : axis_(std::move(axis)) {}
  void take(const traces::Event& event);
  /// Folds pauses of all ranks, and sums what has come. `whole`: it was all of the recording.
  std::shared_ptr<const Tracks> finish(bool whole = true);

 private:
  void count(const traces::Event& event, const Span& span);
  StepTrack& stepTrack(std::int32_t train_step);
  void fold();

  TrackAxis axis_;
  std::shared_ptr<Tracks> tracks_ = std::make_shared<Tracks>();
  std::vector<std::vector<TimeFold>> pauses_;  // by rank
  std::map<std::int32_t, StepTrack> steps_;
  StepTrack* last_ = nullptr;  // of the event before
};

/// Makes tracks of all events, or of the events of some training steps.
std::shared_ptr<const Tracks> makeTracks(const traces::Trace& trace);
std::shared_ptr<const Tracks> makeTracks(const traces::Trace& trace, std::int32_t first_step,
                                         std::int32_t last_step);

}  // namespace ringscope::viz
