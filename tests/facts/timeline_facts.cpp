// SPDX-License-Identifier: Apache-2.0
// Every recorded event lies on its lane, where it was on the run's clock.
#include "tests/facts/timeline_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/facts/drawing.h"
#include "tests/facts/scene_facts.h"

namespace ringscope::facts {

using traces::Event;
using traces::EventKind;
using traces::Payload;

namespace {

using Stretch = std::pair<std::int64_t, std::int64_t>;

bool isOnOwnThread(EventKind kind) {
  return kind != EventKind::kSend && kind != EventKind::kReceive && kind != EventKind::kCollective;
}

/// As they are named where many share a pixel.
viz::Shade shadeMeant(EventKind kind) {
  const std::map<EventKind, viz::Shade> shades = {
      {EventKind::kAttend, viz::Shade::kAttend},   {EventKind::kMerge, viz::Shade::kMerge},
      {EventKind::kLoss, viz::Shade::kLoss},       {EventKind::kGradSync, viz::Shade::kSync},
      {EventKind::kClip, viz::Shade::kSync},       {EventKind::kOptimizer, viz::Shade::kSync},
      {EventKind::kVerify, viz::Shade::kVerify},   {EventKind::kWait, viz::Shade::kWait},
      {EventKind::kPause, viz::Shade::kPause},     {EventKind::kSend, viz::Shade::kMessage},
      {EventKind::kReceive, viz::Shade::kMessage}, {EventKind::kCollective, viz::Shade::kMessage}};
  const auto found = shades.find(kind);
  return found == shades.end() ? viz::Shade::kCompute : found->second;
}

bool isHeld(const std::vector<Stretch>& pauses, std::int64_t ns) {
  return std::ranges::any_of(pauses,
                             [ns](const Stretch& p) { return p.first <= ns && ns < p.second; });
}

}  // namespace

std::vector<Event> eventsOfSteps(const traces::Trace& trace, int rank, int first, int last) {
  std::vector<Event> found;
  for (const Event& event : trace.events(traces::WorldRank::of(rank)))
    if (event.place.train_step >= first && event.place.train_step <= last) found.push_back(event);
  return found;
}

PlainAxis::PlainAxis(const traces::Trace& trace, int first_step, int last_step) {
  std::vector<std::vector<Stretch>> pauses;
  std::set<std::int64_t> borders;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    std::vector<Stretch> of_rank;
    bool works = false;
    for (const Event& event : eventsOfSteps(trace, rank, first_step, last_step)) {
      works = works || isOnOwnThread(event.kind);
      if (event.kind != EventKind::kPause) continue;
      of_rank.emplace_back(event.begin_ns, event.end_ns);
      borders.insert({event.begin_ns, event.end_ns});
    }
    if (works) pauses.push_back(of_rank);
  }
  for (auto at = borders.begin(); at != borders.end() && std::next(at) != borders.end(); ++at)
    if (std::ranges::all_of(pauses, [&](const auto& held) { return isHeld(held, *at); }))
      left_out_.emplace_back(*at, *std::next(at));
}

std::int64_t PlainAxis::at(std::int64_t ns) const {
  std::int64_t out = 0;
  for (const Stretch& fold : left_out_) out += std::clamp(ns, fold.first, fold.second) - fold.first;
  return ns - out;
}

LaneEvent laneEvent(const Event& event, const PlainAxis& axis) {
  LaneEvent at;
  const bool kv = event.payload == Payload::kKv, dkv = event.payload == Payload::kDkv;
  if (event.kind == EventKind::kReceive)
    at.lane = -1;
  else if (!isOnOwnThread(event.kind))
    at.lane = kv ? 1 : dkv ? 2 : 3;
  at.begin = axis.at(event.begin_ns);
  at.end = axis.at(event.end_ns);
  at.bytes = event.bytes;
  at.source = event.source_rank.value();
  at.peer = event.peer.value();
  at.kind = static_cast<int>(event.kind);
  at.payload = static_cast<int>(event.payload);
  return at;
}

namespace {

/// The expected contents of the tracks of some training steps.
struct Meant {
  std::vector<std::multiset<LaneEvent>> of_rank;
  std::map<int, viz::StepTrack> steps;
  std::size_t spans = 0;
};

Meant meantTracks(const traces::Trace& trace, const PlainAxis& axis, int first, int last) {
  Meant meant;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    auto& events = meant.of_rank.emplace_back();
    for (const Event& event : eventsOfSteps(trace, rank, first, last)) {
      const LaneEvent at = laneEvent(event, axis);
      if (at.lane < 0) continue;
      events.insert(at);
      ++meant.spans;
      viz::StepTrack& step = meant.steps[event.place.train_step];
      step.begin_ns = std::min(step.begin_ns, at.begin);
      step.end_ns = std::max(step.end_ns, at.end);
      if (at.lane == 0)
        step.busy_ns[static_cast<std::size_t>(shadeMeant(event.kind))] +=
            static_cast<float>(event.duration());
    }
  }
  while (!meant.of_rank.empty() && meant.of_rank.back().empty()) meant.of_rank.pop_back();
  return meant;
}

std::multiset<LaneEvent> shownOf(const viz::RankTracks& rank) {
  std::multiset<LaneEvent> shown;
  for (int lane = 0; lane < static_cast<int>(viz::kLaneKinds); ++lane) {
    const viz::SpanTree& tree = rank.lane(static_cast<viz::LaneKind>(lane));
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const viz::Span& span = tree[i];
      shown.insert({lane, span.begin_ns, span.end_ns, tree.bytes(i), span.source, span.peer_index,
                    span.kind, span.payload});
      EXPECT_EQ(span.shade, shadeMeant(static_cast<EventKind>(span.kind)));
      EXPECT_TRUE(i == 0 || tree[i - 1].begin_ns <= span.begin_ns) << "in the order of begins";
    }
  }
  return shown;
}

void expectSteps(const viz::Tracks& tracks, const Meant& meant) {
  ASSERT_EQ(tracks.steps.size(), meant.steps.size());
  std::int64_t begin = INT64_MAX, end = INT64_MIN;
  for (const viz::StepTrack& shown : tracks.steps) {
    ASSERT_TRUE(meant.steps.contains(shown.train_step)) << shown.train_step;
    const viz::StepTrack& step = meant.steps.at(shown.train_step);
    EXPECT_EQ(shown.begin_ns, step.begin_ns) << "step " << shown.train_step;
    EXPECT_EQ(shown.end_ns, step.end_ns) << "step " << shown.train_step;
    for (std::size_t i = 0; i < viz::kShades; ++i)
      EXPECT_NEAR(shown.busy_ns[i], step.busy_ns[i], 1e-4F * step.busy_ns[i]) << "shade " << i;
    EXPECT_EQ(tracks.step(shown.train_step), &shown);
    begin = std::min(begin, step.begin_ns);
    end = std::max(end, step.end_ns);
  }
  EXPECT_EQ(tracks.begin_ns, meant.steps.empty() ? 0 : begin);
  EXPECT_EQ(tracks.end_ns, meant.steps.empty() ? 0 : end);
}

void expectTracksOf(const traces::Trace& trace, const viz::Tracks& tracks, int first, int last) {
  const Meant meant = meantTracks(trace, PlainAxis(trace, first, last), first, last);
  EXPECT_EQ(tracks.spans, meant.spans);
  ASSERT_EQ(tracks.ranks.size(), meant.of_rank.size());
  for (std::size_t rank = 0; rank < meant.of_rank.size(); ++rank) {
    EXPECT_EQ(tracks.ranks[rank].rank, traces::WorldRank::of(rank));
    EXPECT_TRUE(shownOf(tracks.ranks[rank]) == meant.of_rank[rank])
        << "rank " << rank << " of steps " << first << " to " << last;
  }
  expectSteps(tracks, meant);
}

}  // namespace

void expectTracks(const traces::Trace& trace, std::mt19937& random) {
  const auto whole = viz::makeTracks(trace);
  EXPECT_TRUE(whole->whole);
  expectTracksOf(trace, *whole, INT32_MIN, INT32_MAX);
  if (testing::Test::HasFailure() || whole->steps.empty()) return;
  const int first = pickOne(random, whole->steps).train_step;
  const int last = std::max(first, pickOne(random, whole->steps).train_step);
  const auto part = viz::makeTracks(trace, first, last);
  EXPECT_FALSE(part->whole);
  expectTracksOf(trace, *part, first, last);
}

void expectTimelineViews(const traces::Trace& trace, const viz::Cursor& cursor,
                         const std::vector<int>& ranks, std::mt19937& random) {
  expectTracks(trace, random);
  expectAccount(trace, cursor, ranks);
  expectSpans(trace, random);
}

void expectWholeTimeline(const Case& c, const Look& look, std::mt19937& random) {
  std::vector<int> ranks;
  for (int rank = 0; rank < c.cp; ++rank) ranks.push_back(c.worldRankFor(look.group, rank));
  expectTimelineViews(*c.trace, look.cursor(c), ranks, random);
}

}  // namespace ringscope::facts
