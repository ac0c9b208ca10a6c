// SPDX-License-Identifier: Apache-2.0
// Compares the events of a recorded step on the own-device axis with an independent replay and with
// the recording.
#include "tests/facts/own_clock_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/facts/drawing.h"
#include "tests/facts/predicted.h"
#include "tests/facts/said.h"
#include "tests/facts/scene_facts.h"
#include "tests/facts/timeline_facts.h"
#include "traces/analysis/clock/stage_work.h"
#include "traces/format/core/error.h"

namespace ringscope::facts {

using traces::Event;
using traces::EventKind;
using traces::Program;
using traces::WorldRank;

bool isModelled(const Event& event) {
  return event.kind != EventKind::kPause && event.kind != EventKind::kVerify;
}
bool isUnderWay(const Event& event) {
  return event.kind == EventKind::kSend || event.kind == EventKind::kReceive;
}

namespace {

bool isStage(const Event& event) {
  return isModelled(event) && !isUnderWay(event) && event.kind != EventKind::kWait &&
         event.kind != EventKind::kCollective;
}

/// CPU time; of a device's queue its own clock.
std::int64_t workMeant(const Event& event) {
  return event.clock == traces::Clock::kDevice ? event.end_ns - event.begin_ns : event.cpu_ns;
}

/// Its own times, as its place in the order of recording does not count.
auto keyOf(const Event& e) {
  return std::tuple(e.begin_ns, e.end_ns, e.cpu_ns, e.bytes, e.flow, e.exchange, e.kind, e.payload,
                    e.peer.value(), e.source_rank.value());
}

class OwnClockFacts {
 public:
  OwnClockFacts(const OwnStep& step, std::mt19937& random) : step_(step), random_(random) {}

  void expect() {
    ASSERT_EQ(clock().events.size(), program().ranks.size());
    for (std::size_t r = 0; r < clock().events.size(); ++r) {
      SCOPED_TRACE("rank " + std::to_string(r));
      expectRecorded(r);
      expectWork(r);
      expectBothWays(r);
    }
    expectMovement(step_);
    if (step_.meant.tied()) return;  // the times may be others as well
    EXPECT_EQ(clock().timeline.endNs(), step_.meant.end());
    for (std::size_t r = 0; r < clock().events.size(); ++r) expectTimes(r);
    expectTracks();
    for (int i = 0; i < 4; ++i) expectDetails();
  }

 private:
  const viz::OwnClock& clock() const { return step_.clock; }
  const Program& program() const { return step_.program(); }
  const std::vector<Event>& recorded(std::size_t r) const { return clock().recorded->events[r]; }

  /// The schedule is that of the recorded events, all of them.
  void expectRecorded(std::size_t r) const {
    std::vector<Event> meant;
    if (static_cast<int>(r) < step_.trace.worldSize())
      meant =
          eventsOfSteps(step_.trace, static_cast<int>(r), clock().train_step, clock().train_step);
    std::vector<Event> shown = recorded(r);
    std::ranges::sort(meant, {}, keyOf);
    std::ranges::sort(shown, {}, keyOf);
    EXPECT_TRUE(std::ranges::equal(shown, meant, {}, keyOf, keyOf));
  }

  void expectTimes(std::size_t r) const {
    SCOPED_TRACE("rank " + std::to_string(r));
    for (std::uint32_t e = 0; e < clock().events[r].size(); ++e) {
      const Event& shown = clock().events[r][e];
      const Times meant = isModelled(shown) ? step_.meant.of(r, e) : Times{};
      EXPECT_EQ(shown.begin_ns, meant.begin) << traces::describe(shown.place);
      EXPECT_EQ(shown.end_ns, meant.end) << traces::describe(shown.place);
      EXPECT_EQ(shown.start_ns, meant.begin);
    }
  }

  /// A stage that holds nothing takes the time that was recorded for it; on any link.
  void expectWork(std::size_t r) const {
    std::vector<int> parts(recorded(r).size(), 0);
    std::vector<double> kernels(recorded(r).size(), 0);
    for (const Program::Op& op : program().ranks[r].ops)
      if (op.event != Program::kNone) {
        ++parts[op.event];
        kernels[op.event] += op.kernels;
      }
    const bool recompute = step_.trace.run() && step_.trace.run()->recompute;
    std::vector<std::size_t> own;
    for (std::size_t e = 0; e < recorded(r).size(); ++e)
      if (!isUnderWay(recorded(r)[e])) own.push_back(e);
    std::ranges::sort(own, {}, [&](std::size_t e) {
      return std::tuple(recorded(r)[e].begin_ns, -recorded(r)[e].end_ns, e);
    });
    std::int64_t model_begin = 0, held_until = INT64_MIN;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Event& run = recorded(r)[own[i]];
      const Event& model = clock().events[r][own[i]];
      if (!isModelled(run)) held_until = std::max(held_until, run.end_ns);
      if (run.begin_ns < held_until) continue;
      EXPECT_GE(model.begin_ns, model_begin) << "in the recorded order";
      model_begin = model.begin_ns;
      const bool holds = i + 1 < own.size() && recorded(r)[own[i + 1]].begin_ns < run.end_ns;
      if (!isStage(run) || holds) continue;
      EXPECT_NEAR(kernels[own[i]], traces::stageKernels(run.kind, run.place.direction, recompute),
                  1e-5)
          << traces::describe(run.place);
      const double work =
          std::max(static_cast<double>(workMeant(run)) / clock().hardware.compute_scale,
                   1000 * kernels[own[i]] * clock().hardware.floors.kernel_us);
      EXPECT_NEAR(static_cast<double>(model.end_ns - model.begin_ns), work, 0.5 * parts[own[i]])
          << traces::describe(run.place);
    }
  }

  void expectTracks() const {
    std::vector<std::multiset<LaneEvent>> meant(clock().events.size()), shown(meant.size());
    const PlainAxis plain{traces::Trace(), 0, 0};
    for (std::size_t r = 0; r < meant.size(); ++r)
      for (std::uint32_t e = 0; e < recorded(r).size(); ++e) {
        Event event = recorded(r)[e];
        event.begin_ns = step_.meant.of(r, e).begin;
        event.end_ns = step_.meant.of(r, e).end;
        const LaneEvent at = laneEvent(event, plain);
        if (isModelled(event) && at.lane >= 0) meant[r].insert(at);
      }
    for (const viz::RankTracks& rank : clock().tracks->ranks)
      for (int lane = 0; lane < static_cast<int>(viz::kLaneKinds); ++lane) {
        const viz::SpanTree& tree = rank.lane(static_cast<viz::LaneKind>(lane));
        for (std::size_t i = 0; i < tree.size(); ++i)
          shown.at(rank.rank.index())
              .insert({lane, tree[i].begin_ns, tree[i].end_ns, tree.bytes(i), tree[i].source,
                       tree[i].peer_index, tree[i].kind, tree[i].payload});
      }
    EXPECT_TRUE(shown == meant) << "the lanes hold something else";
  }

  /// Begins and ends lie in the model where they lie there, and the other way round; both ascend.
  void expectBothWays(std::size_t r) {
    std::vector<std::pair<std::int64_t, std::int64_t>> borders;  // in the run, in the model
    for (std::size_t e = 0; e < recorded(r).size(); ++e) {
      const Event& run = recorded(r)[e];
      const Event& model = clock().events[r][e];
      if (isUnderWay(run) || !isModelled(run)) continue;
      borders.emplace_back(run.begin_ns, model.begin_ns);
      borders.emplace_back(run.end_ns, model.end_ns);
    }
    if (borders.empty()) return;
    const auto rank = WorldRank::of(r);
    for (int i = 0; i < 16; ++i) {
      const auto [run, model] = pickOne(random_, borders);
      double least = static_cast<double>(model), most = least;
      std::int64_t first = run, last = run;
      for (const auto& [other_run, other_model] : borders) {
        if (other_run == run) least = std::min(least, static_cast<double>(other_model));
        if (other_run == run) most = std::max(most, static_cast<double>(other_model));
        if (other_model == model) first = std::min(first, other_run);
        if (other_model == model) last = std::max(last, other_run);
      }
      EXPECT_GE(clock().modelled(rank, run), least);
      EXPECT_LE(clock().modelled(rank, run), most);
      EXPECT_GE(clock().recordedAt(rank, static_cast<double>(model)), first);
      EXPECT_LE(clock().recordedAt(rank, static_cast<double>(model)), last);
      const auto [later_run, later_model] = pickOne(random_, borders);
      const std::int64_t a = (run + later_run) / 2, b = std::max(run, later_run);
      EXPECT_LE(clock().modelled(rank, a), clock().modelled(rank, b));
      const double half = static_cast<double>(model + later_model) / 2;
      EXPECT_LE(clock().recordedAt(rank, half),
                clock().recordedAt(rank, static_cast<double>(std::max(model, later_model))));
    }
  }

  /// Checks the details of a random event. The details of a wait include its cost.
  void expectDetails() {
    const std::size_t r = random_() % clock().events.size();
    if (recorded(r).empty()) return;
    const std::size_t e = random_() % recorded(r).size();
    const viz::RankTracks* tracks = clock().tracks->of(WorldRank::of(r));
    if (!tracks || !isModelled(recorded(r)[e])) return;
    Event model = recorded(r)[e];
    model.begin_ns = step_.meant.of(r, static_cast<std::uint32_t>(e)).begin;
    model.end_ns = step_.meant.of(r, static_cast<std::uint32_t>(e)).end;
    const int lane = laneEvent(model, PlainAxis{traces::Trace(), 0, 0}).lane;
    if (lane < 0) return;
    viz::SpanPlace at{WorldRank::of(r), static_cast<viz::LaneKind>(lane), {}};
    at.span.begin_ns = model.begin_ns;
    at.span.end_ns = model.end_ns;
    at.span.kind = static_cast<std::uint8_t>(model.kind);
    at.span.payload = static_cast<std::uint8_t>(model.payload);
    at.span.source = static_cast<std::int16_t>(model.source_rank.value());
    at.span.peer_index = static_cast<std::int16_t>(model.peer.value());
    if (viz::spanEvents(clock(), at).size() != 1) return;
    expectRows(viz::spanDetails(clock(), at), r, e);
  }

  void expectRows(const viz::SpanDetails& details, std::size_t r, std::size_t e) const;

  const OwnStep& step_;
  std::mt19937& random_;
};

void OwnClockFacts::expectRows(const viz::SpanDetails& details, std::size_t r,
                               std::size_t e) const {
  SCOPED_TRACE(viz::detailWords(details));
  std::map<std::string, std::string> rows(details.rows.begin(), details.rows.end());
  const Times meant = step_.meant.of(r, static_cast<std::uint32_t>(e));
  EXPECT_EQ(rows["axis"], "model, not a measurement");
  EXPECT_TRUE(saysDuration(rows["by the model"], static_cast<double>(meant.length())));
  EXPECT_FALSE(rows.contains("wall time")) << "whose?";
  const auto& ops = program().ranks[r].ops;
  for (std::size_t o = 0; o < ops.size(); ++o) {
    const bool waits =
        ops[o].kind == Program::Op::Kind::kWait || ops[o].kind == Program::Op::Kind::kCollective;
    if (ops[o].event != e || !waits) continue;
    const PlainReplay::Cost cost = step_.meant.cost(r, o);
    EXPECT_TRUE(saysDuration(rows["under way"], static_cast<double>(cost.under_way)));
    EXPECT_TRUE(saysDuration(rows["hidden under work"], static_cast<double>(cost.hidden)));
    EXPECT_TRUE(saysDuration(rows["exposed"], static_cast<double>(cost.exposed)));
    EXPECT_EQ(rows.contains("of that for a late peer"), cost.late > 0);
    if (cost.late > 0) {
      EXPECT_TRUE(saysDuration(rows["of that for a late peer"], static_cast<double>(cost.late)));
    }
  }
}

/// A link that can be chosen, or any figures.
traces::Hardware anyHardware(std::mt19937& random) {
  traces::Hardware hardware = drawHardware(random);
  if (random() % 2) hardware.link = traces::linkPresets()[random() % 6].value;
  return hardware;
}

}  // namespace

void expectOwnClock(const Case& c, const Look& look, std::mt19937& random) {
  const traces::Hardware hardware = anyHardware(random);
  expectSpoiled(c, random);
  if (!expectWhyNoModel(*c.trace, look.step)) return;
  const auto recorded = viz::recordedStep(traces::stepEvents(*c.trace, look.step, look.step));
  const PlainReplay meant(recorded->program, hardware);
  ASSERT_TRUE(meant.ends()) << "what was run ends";
  const auto clock = viz::makeDrawnOwnClock(recorded, look.step, hardware);
  SCOPED_TRACE(traces::describe(hardware) + (hardware.link.shared ? "" : " a link a pair") +
               (hardware.link.full_duplex ? "" : " half duplex"));
  const OwnStep step{*c.trace, *clock, meant};
  OwnClockFacts(step, random).expect();
  if (meant.tied() || testing::Test::HasFailure()) return;
  std::vector<int> ranks;
  for (int rank = 0; rank < c.cp; ++rank) ranks.push_back(c.worldRankFor(look.group, rank));
  expectOwnAccount(step, ranks);
  expectCriticalPath(step);
}

}  // namespace ringscope::facts
