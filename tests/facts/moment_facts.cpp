// SPDX-License-Identifier: Apache-2.0
// Checks the views of time: bars and arrows, the words of the axis, and an instant between ring
// steps.
#include <algorithm>
#include <array>
#include <map>

#include "tests/facts/scene_facts.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/ring_scene.h"
#include "viz/scene/units.h"
#include "viz/views/pass/pass_scene.h"
#include "viz/views/pass/time_scale.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::EventKind;

/// From the begin to the end of what a rank itself does in a ring step.
struct Spell {
  traces::Place place;
  std::int64_t begin = 0, end = 0;
};

bool isOwnWork(const Event& event) {
  return event.place.stage.exists() && event.kind != EventKind::kPause &&
         event.payload != traces::Payload::kDkv;
}

std::vector<Spell> spellsOf(const Case& c, int world) {
  std::vector<Spell> spells;
  for (const Event& event : c.trace->events(traces::WorldRank::of(world))) {
    if (!isOwnWork(event)) continue;
    const auto known = std::ranges::find(spells, event.place, &Spell::place);
    if (known == spells.end()) {
      spells.push_back({event.place, event.begin_ns, event.end_ns});
      continue;
    }
    known->begin = std::min(known->begin, event.begin_ns);
    known->end = std::max(known->end, event.end_ns);
  }
  return spells;
}

/// The last of those that had begun; nothing where none had, or two began at once.
const Spell* spellAt(const std::vector<Spell>& spells, std::int64_t instant) {
  const Spell* last = nullptr;
  bool tie = false;
  for (const Spell& spell : spells) {
    if (spell.begin > instant) continue;
    tie = last && spell.begin == last->begin;
    if (!last || spell.begin > last->begin) last = &spell;
  }
  return tie ? nullptr : last;
}

double amountOf(const std::string& words) {
  static const std::map<std::string, double> kUnits = {
      {"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const auto space = words.find(' ');
  return std::stod(words.substr(0, space)) * kUnits.at(words.substr(space + 1));
}

void expectTicks(const viz::PassScene& scene) {
  for (const double width : {240.0, 900.0, 1800.0, 2500.0, 3700.0}) {
    const viz::TimeScale scale{scene.begin_ns, scene.end_ns, 100, width};
    const std::int64_t tick = scale.tick(scale.ticks());
    int count = 0;
    for (std::int64_t t = 0; scene.begin_ns + t <= scene.end_ns; t += tick, ++count)
      EXPECT_NEAR(amountOf(viz::describeDuration(t)), static_cast<double>(t),
                  1e-9 * static_cast<double>(t))
          << viz::describeDuration(t);
    EXPECT_LE(count * 80, width + 180) << "words have room";
  }
}

bool isBar(EventKind kind) {
  return kind == EventKind::kAttend || kind == EventKind::kMerge || kind == EventKind::kWait ||
         kind == EventKind::kPause;
}

/// Seat, kind, block and times of a bar; seats, block, gradient and times of an arrow.
using Bar = std::array<std::int64_t, 5>;
using Arrow = std::array<std::int64_t, 6>;

/// Checks the source and target that the receiver recorded for the message of this send, and the
/// rank that waited for it.
void expectReceived(const Case& c, const Event& send) {
  for (const Event& receive : c.trace->events(send.peer)) {
    if (receive.kind != EventKind::kReceive || receive.flow != send.flow) continue;
    EXPECT_EQ(receive.peer, send.rank);
    EXPECT_EQ(receive.bytes, send.bytes);
    EXPECT_EQ(receive.source_rank, send.source_rank);
    for (const Event& wait : c.trace->events(send.peer))
      if (wait.kind == EventKind::kWait && receive.exchange > 0 &&
          wait.exchange == receive.exchange) {
        EXPECT_GE(wait.end_ns, receive.start_ns) << "it waited until the message was there";
        EXPECT_LE(send.start_ns, wait.end_ns) << "an arrow begins before the wait for it is over";
      }
    return;
  }
  ADD_FAILURE() << "a send without its receive";
}

}  // namespace

void expectAxis(const Case& c, const Look& look) {
  const auto scene = viz::makePassScene(*c.trace, look.cursor(c));
  std::multiset<Bar> bars, shown_bars;
  std::multiset<Arrow> arrows, shown_arrows;
  for (int rank = 0; rank < c.cp; ++rank) {
    const int world = c.worldRankFor(look.group, rank);
    EXPECT_EQ(scene.lanes[static_cast<std::size_t>(rank)].rank.value(), world);
    for (const Event& e : c.trace->events(traces::WorldRank::of(world))) {
      traces::Place pass = e.place;
      pass.stage = look.place().stage;
      if (e.place.stage.isNone() || !(pass == look.place())) continue;
      if (isBar(e.kind))
        bars.insert({rank, static_cast<int>(e.kind), e.source_rank.value(), e.begin_ns, e.end_ns});
      if (e.kind != EventKind::kSend) continue;
      arrows.insert({rank, e.peer.value() - c.worldRankFor(look.group, 0), e.source_rank.value(),
                     e.payload == traces::Payload::kDkv, e.start_ns, e.end_ns});
      expectReceived(c, e);
    }
  }
  for (const auto& bar : scene.bars)
    shown_bars.insert({bar.seat.value(), static_cast<int>(bar.kind), bar.source_rank.value(),
                       bar.begin_ns, bar.end_ns});
  for (const auto& flow : scene.flows)
    shown_arrows.insert({flow.from_seat.value(), flow.to_seat.value(), flow.source_rank.value(),
                         flow.gradient, flow.begin_ns, flow.end_ns});
  EXPECT_EQ(shown_bars, bars);
  EXPECT_EQ(shown_arrows, arrows);
  if (scene.end_ns > scene.begin_ns) expectTicks(scene);
}

void expectInstant(const Case& c, const Look& look, std::mt19937& random) {
  viz::Cursor cursor = look.cursor(c);
  cursor.axis = viz::Axis::kTime;
  cursor.phase = static_cast<double>(random() % 17) / 16;
  const auto scene = viz::makeRingScene(*c.trace, cursor);
  const auto mine = spellsOf(c, c.worldRankFor(look.group, look.rank));
  const auto here = std::ranges::find(mine, look.place(), &Spell::place);
  if (here == mine.end()) return;
  const auto instant =
      here->begin +
      static_cast<std::int64_t>(cursor.phase * static_cast<double>(here->end - here->begin));
  EXPECT_EQ(viz::instantAt(scene, cursor.phase), instant);
  for (int rank = 0; rank < c.cp; ++rank) {
    const auto& says = scene.ranks[static_cast<std::size_t>(rank)];
    const auto spells = spellsOf(c, c.worldRankFor(look.group, rank));
    const Spell* at = rank == look.rank ? &*here : spellAt(spells, instant);
    if (!at) continue;
    SCOPED_TRACE("rank " + std::to_string(rank) + " stands at " + traces::describe(at->place));
    EXPECT_EQ(says.place, at->place) << traces::describe(says.place);
    EXPECT_EQ(says.window.begin_ns, at->begin);
    EXPECT_EQ(says.window.end_ns, at->end);
    if (at->end > at->begin) {
      EXPECT_NEAR(viz::rankPhase(scene, says, cursor.phase),
                  std::clamp(static_cast<double>(instant - at->begin) /
                                 static_cast<double>(at->end - at->begin),
                             0.0, 1.0),
                  1e-9);
    }
    const PlanOracle& oracle = c.oracle(at->place.train_step, look.group);
    const bool backward = at->place.direction == traces::Direction::kBackward;
    std::multiset<int> sources, expected;
    for (const auto source : says.sources) sources.insert(source.value());
    for (const int source : oracle.attended(rank, at->place.stage.value(), backward))
      expected.insert(c.worldRankFor(look.group, source));
    EXPECT_EQ(sources, expected);
  }
}

}  // namespace ringscope::facts
