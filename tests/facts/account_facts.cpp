// SPDX-License-Identifier: Apache-2.0
// Compares the account of a training step's time with one that looks at every interval between two
// neighbouring begins or ends of events.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <tuple>

#include "tests/facts/said.h"
#include "tests/facts/timeline_facts.h"
#include "viz/views/timeline/account_scene.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Payload;
using viz::TimeUse;

bool isMessage(const Event& e) {
  return e.kind == EventKind::kSend || e.kind == EventKind::kReceive ||
         e.kind == EventKind::kCollective;
}
bool isTransfer(const Event& e) {
  return isMessage(e) && e.kind != EventKind::kCollective;
}
bool isAttention(const Event& e) {
  return e.kind == EventKind::kAttend || e.kind == EventKind::kMerge;
}
bool isSync(const Event& e) {
  return e.kind == EventKind::kGradSync || e.kind == EventKind::kClip ||
         e.kind == EventKind::kOptimizer;
}
bool isOtherWork(const Event& e) {
  return !isMessage(e) && !isAttention(e) && !isSync(e) && e.kind != EventKind::kWait &&
         e.kind != EventKind::kPause && e.kind != EventKind::kVerify;
}

/// One direction of one layer; sorted as they are visited.
struct Pass {
  int backward = 0, order = 0, layer = -1;
  bool operator==(const Pass&) const = default;
  bool operator<(const Pass& other) const {
    return std::tie(backward, order, layer) < std::tie(other.backward, other.order, other.layer);
  }
};
Pass passOf(const Event& e) {
  const int layer = e.place.layer.value();
  const bool backward = e.place.direction == traces::Direction::kBackward;
  return {backward, backward ? -layer : layer, layer};
}

/// All that is under way in one moment of a rank.
struct Moment {
  bool paused = false, waits = false, attends = false, works = false, syncs = false;
  bool verifies = false, collective = false, message = false;
  std::set<Pass> waits_of, messages_of, collectives_of;

  explicit Moment(const std::vector<const Event*>& open) {
    for (const Event* e : open) {
      paused |= e->kind == EventKind::kPause;
      waits |= e->kind == EventKind::kWait;
      attends |= isAttention(*e);
      works |= isOtherWork(*e);
      syncs |= isSync(*e);
      verifies |= e->kind == EventKind::kVerify;
      collective |= e->kind == EventKind::kCollective;
      message |= isMessage(*e);
      if (e->kind == EventKind::kWait) waits_of.insert(passOf(*e));
      if (isMessage(*e)) messages_of.insert(passOf(*e));
      if (e->kind == EventKind::kCollective) collectives_of.insert(passOf(*e));
    }
  }
  TimeUse use() const {
    if (waits) return TimeUse::kExposed;
    if (attends) return TimeUse::kAttention;
    if (works) return TimeUse::kCompute;
    if (syncs) return TimeUse::kSync;
    if (verifies) return TimeUse::kVerify;
    return collective ? TimeUse::kExposed : TimeUse::kBetween;
  }
};

/// The expected sums of one rank's step.
struct RankMeant {
  std::int64_t step = 0, hidden = 0, late = 0, bytes = 0, hops = 0, wall = 0, cpu = 0;
  std::array<std::int64_t, viz::kTimeUses> used{};
  std::map<Pass, viz::Exposure> passes;

  explicit RankMeant(const std::vector<Event>& events) {
    std::set<std::int64_t> borders;
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    for (const Event& e : events) {
      count(e);
      if (e.end_ns <= e.begin_ns) continue;
      borders.insert({e.begin_ns, e.end_ns});
      if (isTransfer(e)) continue;
      first = std::min(first, e.begin_ns);
      last = std::max(last, e.end_ns);
    }
    std::vector<const Event*> by_begin, open;
    for (const Event& e : events)
      if (e.end_ns > e.begin_ns) by_begin.push_back(&e);
    std::ranges::sort(by_begin, {}, &Event::begin_ns);
    auto next = by_begin.begin();
    for (auto at = borders.begin(); at != borders.end() && std::next(at) != borders.end(); ++at) {
      std::erase_if(open, [&](const Event* e) { return e->end_ns <= *at; });
      for (; next != by_begin.end() && (*next)->begin_ns <= *at; ++next) open.push_back(*next);
      take(open, *at, *std::next(at), *at >= first && *at < last);
    }
  }

 private:
  void count(const Event& e) {
    if (e.clock == traces::Clock::kHost && e.cpu_ns > 0 && (isAttention(e) || isOtherWork(e))) {
      cpu += e.cpu_ns;
      wall += e.end_ns - e.begin_ns;
    }
    if (isMessage(e) || e.kind == EventKind::kWait) passes[passOf(e)];
    const bool counts = e.kind == EventKind::kSend || e.kind == EventKind::kCollective;
    if (!counts) return;
    bytes += e.bytes;
    passes[passOf(e)].bytes += e.bytes;
    hops += e.kind == EventKind::kSend && (e.payload == Payload::kKv || e.payload == Payload::kDkv);
  }
  void take(const std::vector<const Event*>& open, std::int64_t begin, std::int64_t end,
            bool within) {
    const Moment moment(open);
    if (moment.paused) return;
    const std::int64_t length = end - begin;
    const bool exposed = within && moment.use() == TimeUse::kExposed;
    if (within) {
      used[static_cast<std::size_t>(moment.use())] += length;
      step += length;
    }
    if (!exposed && !moment.message) return;
    // It counts once: for the first that waits, or blocks, or has something in flight.
    const auto& who = !exposed                  ? moment.messages_of
                      : moment.waits_of.empty() ? moment.collectives_of
                                                : moment.waits_of;
    viz::Exposure& of = passes[*who.begin()];
    (exposed ? of.exposed_ns : of.hidden_ns) += length;
    if (!exposed) hidden += length;
    if (exposed && !moment.message) of.late_ns += length;
    if (exposed && !moment.message) late += length;
  }
};

struct StepMeant {
  std::vector<RankMeant> ranks;
  std::map<Pass, viz::Exposure> passes;
  std::int64_t step = 0, exposed = 0, hidden = 0, late = 0, bytes = 0, messages = 0;

  StepMeant(const traces::Trace& trace, int train_step, const std::vector<int>& of) {
    for (const int world : of) {
      const auto events = eventsOfSteps(trace, world, train_step, train_step);
      messages += std::ranges::count_if(events, isMessage);
      const RankMeant& rank = ranks.emplace_back(events);
      step += rank.step;
      exposed += rank.used[static_cast<std::size_t>(TimeUse::kExposed)];
      hidden += rank.hidden;
      late += rank.late;
      bytes += rank.bytes;
      for (const auto& [pass, of_pass] : rank.passes) passes[pass] += of_pass;
    }
  }
};

void expectRank(const viz::RankAccount& shown, const RankMeant& meant) {
  std::int64_t sum = 0;
  for (std::size_t use = 0; use < viz::kTimeUses; ++use) {
    EXPECT_EQ(shown.used_ns[use], meant.used[use]) << traces::title(static_cast<TimeUse>(use));
    sum += shown.used_ns[use];
  }
  EXPECT_EQ(sum, shown.step_ns) << "uses add up to the step";
  EXPECT_EQ(shown.step_ns, meant.step);
  EXPECT_EQ(shown.exposure.exposed_ns, shown.used(TimeUse::kExposed));
  EXPECT_EQ(shown.exposure.hidden_ns, meant.hidden);
  EXPECT_EQ(shown.exposure.late_ns, meant.late);
  EXPECT_EQ(shown.exposure.bytes, meant.bytes);
  EXPECT_EQ(shown.hops, meant.hops);
  EXPECT_EQ(shown.wall_ns, meant.wall);
  EXPECT_EQ(shown.cpu_ns, meant.cpu);
}

void expectPasses(const viz::StepAccount& account, const StepMeant& meant) {
  ASSERT_EQ(account.layers.size(), meant.passes.size());
  auto shown = account.layers.begin();
  viz::Exposure sum;
  for (const auto& [pass, exposure] : meant.passes) {
    SCOPED_TRACE("layer " + std::to_string(pass.layer) + (pass.backward ? " backward" : ""));
    EXPECT_EQ(shown->layer.value(), pass.layer);
    EXPECT_EQ(shown->direction == traces::Direction::kBackward, pass.backward == 1);
    EXPECT_EQ(shown->exposure, exposure);
    sum += (shown++)->exposure;
  }
  EXPECT_EQ(sum, account.exposure()) << "the rows of the table add up to its last";
}

/// "most of it in layer 1 backward (3 µs of all ranks)", "as much in each of 4 places (…)". All
/// that is outside the layers is one place.
void expectWorst(const std::smatch& words, const StepMeant& meant) {
  std::map<std::string, std::int64_t> places;
  for (const auto& [pass, exposure] : meant.passes)
    places[pass.layer < 0 ? "outside the layers"
                          : "in layer " + std::to_string(pass.layer) +
                                (pass.backward ? " backward" : " forward")] += exposure.exposed_ns;
  std::int64_t most = 0;
  for (const auto& [place, exposed] : places) most = std::max(most, exposed);
  const auto alike =
      std::ranges::count_if(places, [&](const auto& each) { return each.second == most; });
  EXPECT_EQ(words[1].matched, alike > 1) << "who names one of several says what is not so";
  EXPECT_TRUE(saysDuration(words[4], static_cast<double>(most)));
  if (words[1].matched) {
    EXPECT_EQ(std::stoi(words[1]), alike);
    return;
  }
  EXPECT_EQ(places[words[3]], most) << "there is a place with more";
  EXPECT_EQ(words[2] == "most of it", 2 * most > meant.exposed);
}

void expectSentence(const std::string& says, const StepMeant& meant) {
  if (says ==
      "Nothing that these ranks did in this training step has a length: where its time goes is not "
      "recorded.") {
    EXPECT_EQ(meant.step, 0);
    return;
  }
  if (says == "No message or wait of this training step has a length outside of pauses.") {
    EXPECT_EQ(meant.hidden + meant.exposed, 0);
    return;
  }
  if (says == "No message is recorded in this training step.") {
    EXPECT_EQ(meant.messages, 0);
    return;
  }
  static const std::regex kShares(
      "(?:(\\d+ %) of the time that communication is in flight is hidden|no communication is in "
      "flight)"
      "(?:; (\\d+ %) of the ranks' time is exposed)?(?:, (.*))?\\.");
  std::smatch words;
  ASSERT_TRUE(std::regex_match(says, words, kShares)) << "no oracle knows this sentence";
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  const std::int64_t in_flight = meant.hidden + meant.exposed - meant.late;
  EXPECT_EQ(words[1].matched, in_flight > 0) << "of nothing there is no share";
  EXPECT_TRUE(!words[1].matched || saysShare(words[1], share(meant.hidden, in_flight)));
  EXPECT_TRUE(saysShare(words[2], share(meant.exposed, meant.step)));
  if (!words[3].matched) {
    EXPECT_EQ(meant.exposed, 0);
    return;
  }
  static const std::regex kWhere(
      "(?:as much in each of (\\d+) places|(most of it|the largest part) (outside the layers|in "
      "layer "
      "\\d+ (?:forward|backward))) \\((.*) of all ranks\\)");
  const std::string where = words[3];
  std::smatch place;
  ASSERT_TRUE(std::regex_match(where, place, kWhere)) << "no oracle knows this sentence";
  expectWorst(place, meant);
}

}  // namespace

void expectAccount(const traces::Trace& trace, const viz::Cursor& cursor,
                   const std::vector<int>& ranks) {
  const auto account = viz::makeStepAccount(trace, cursor);
  SCOPED_TRACE(account.sentence);
  const StepMeant meant(trace, cursor.place.train_step, ranks);
  ASSERT_EQ(account.ranks.size(), ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    SCOPED_TRACE("rank " + std::to_string(ranks[i]));
    EXPECT_EQ(account.ranks[i].rank.value(), ranks[i]);
    expectRank(account.ranks[i], meant.ranks[i]);
  }
  EXPECT_EQ(account.train_step, cursor.place.train_step);
  EXPECT_EQ(account.stepNs(), meant.step);
  expectPasses(account, meant);
  expectHiddenShare(account);
  expectSentence(account.sentence, meant);
  expectCaveat(trace, account);
}

}  // namespace ringscope::facts
