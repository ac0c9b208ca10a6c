// SPDX-License-Identifier: Apache-2.0
// Compares what the Timeline view says about any recording with its events, one by one.
#pragma once

#include <random>
#include <vector>

#include "traces/format/trace/trace.h"
#include "viz/scene/cursor.h"
#include "viz/scene/tracks.h"
#include "viz/views/timeline/account_scene.h"

namespace ringscope::facts {

/// An event as a lane has it.
struct LaneEvent {
  int lane = 0;  ///< −1: on none
  std::int64_t begin = 0, end = 0, bytes = 0;
  int source = -1, peer = -1, kind = 0, payload = 0;
  auto operator<=>(const LaneEvent&) const = default;
};

/// Recorded time without what all ranks were held in, by asking of every moment who is held.
class PlainAxis {
 public:
  PlainAxis(const traces::Trace& trace, int first_step, int last_step);
  std::int64_t at(std::int64_t ns) const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> left_out_;
};

LaneEvent laneEvent(const traces::Event& event, const PlainAxis& axis);
/// All events of a rank at some training steps.
std::vector<traces::Event> eventsOfSteps(const traces::Trace& trace, int rank, int first, int last);

/// Lanes, steps' windows and folds, of the whole and of some of its training steps.
void expectTracks(const traces::Trace& trace, std::mt19937& random);
/// Checks the account of a step's time, in numbers and in words.
void expectAccount(const traces::Trace& trace, const viz::Cursor& cursor,
                   const std::vector<int>& ranks);
/// Checks the words about some events and ranges, and the results of a search.
void expectSpans(const traces::Trace& trace, std::mt19937& random);
/// Makes all of these checks.
void expectTimelineViews(const traces::Trace& trace, const viz::Cursor& cursor,
                         const std::vector<int>& ranks, std::mt19937& random);

/// Events of no run: any kinds at any times, pauses among them.
struct AnyEvents {
  traces::Trace trace;
  int ranks = 1, steps = 1;
};
void drawEvents(AnyEvents& drawn, std::mt19937& random);

/// Whether waits and overlap are the scheduler's.
void expectCaveat(const traces::Trace& trace, const viz::StepAccount& account);
/// The sentence and the table's last row have one share of hidden communication.
void expectHiddenShare(const viz::StepAccount& account);

}  // namespace ringscope::facts
