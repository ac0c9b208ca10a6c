// SPDX-License-Identifier: Apache-2.0
// A training step as if every rank had its own device: its times, where they go, and what
// determines its end.
#include "tests/facts/own_clock_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <regex>

#include "tests/facts/plain_replay.h"
#include "tests/facts/predicted.h"
#include "tests/facts/said.h"
#include "traces/clock/recorded_program.h"
#include "viz/scene/own_clock.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Program;
using traces::WorldRank;
using Cost = PlainReplay::Cost;
using Kind = Program::Op::Kind;

bool isTransfer(const Event& e) {
  return e.kind == EventKind::kSend || e.kind == EventKind::kReceive;
}
bool isNoPart(const Event& e) {
  return e.kind == EventKind::kPause || e.kind == EventKind::kVerify;
}

class OwnClockFacts {
 public:
  OwnClockFacts(const Case& c, const Look& look, const traces::Hardware& hardware)
      : c_(c),
        look_(look),
        clock_(viz::makeOwnClock(viz::recordedStep(*c.trace, look.step), look.step, hardware)),
        program_(clock_->recorded->program),
        plain_(program_, hardware),
        end_(plain_.end()) {}

  void expect() const {
    ASSERT_EQ(clock_->events.size(), static_cast<std::size_t>(c_.groups() * c_.cp));
    EXPECT_EQ(clock_->timeline.endNs(), end_);
    for (std::size_t r = 0; r < clock_->events.size(); ++r) {
      SCOPED_TRACE("rank " + std::to_string(r));
      expectRank(r);
      expectKnots(r);
    }
    expectLanes();
    expectAccount();
    expectChain(*clock_, plain_);
  }

 private:
  /// Every event of the recording, at the times of what is done in it.
  void expectRank(std::size_t r) const {
    const auto recorded = eventsOfStep(r);
    ASSERT_EQ(clock_->events[r].size(), recorded);
    const auto& ops = program_.ranks[r].ops;
    std::vector<When> meant(clock_->events[r].size());
    for (std::size_t o = 0; o < ops.size(); ++o) {
      if (ops[o].event == Program::kNone) continue;
      When& event = meant[ops[o].event];
      if (event.begin < 0) event.begin = plain_.ops[r][o].begin;
      event.end = plain_.ops[r][o].end;
    }
    for (std::size_t m = 0; m < program_.messages.size(); ++m) {
      const auto& message = program_.messages[m];
      if (message.from.index() == r && message.send_event != Program::kNone)
        meant[message.send_event] = plain_.messages[m];
      if (message.to.index() == r && message.receive_event != Program::kNone)
        meant[message.receive_event] = plain_.messages[m];
    }
    for (std::size_t e = 0; e < meant.size(); ++e) {
      const Event& shown = clock_->events[r][e];
      if (isNoPart(shown) || meant[e].begin < 0) continue;
      EXPECT_EQ(shown.begin_ns, meant[e].begin) << traces::name(shown.kind);
      EXPECT_EQ(shown.end_ns, meant[e].end) << traces::name(shown.kind);
      expectWork(shown, clock_->recorded->events[r][e]);
    }
  }

  std::size_t eventsOfStep(std::size_t r) const {
    const auto events = c_.trace->events(WorldRank::of(r));
    return static_cast<std::size_t>(std::ranges::count_if(
        events, [&](const Event& e) { return e.place.train_step == look_.step; }));
  }

  /// An attend takes the CPU time that was recorded for it.
  void expectWork(const Event& shown, const Event& recorded) const {
    if (shown.kind != EventKind::kAttend || recorded.cpu_ns <= 0) return;
    const double meant = static_cast<double>(recorded.cpu_ns) / clock_->hardware.compute_scale;
    EXPECT_NEAR(static_cast<double>(shown.duration()), meant, 1);
  }

  /// From the run's time to the model's and back, never backwards.
  void expectKnots(std::size_t r) const {
    const WorldRank rank = WorldRank::of(r);
    std::vector<std::int64_t> times;
    for (const Event& e : clock_->recorded->events[r])
      if (!isTransfer(e) && !isNoPart(e)) times.insert(times.end(), {e.begin_ns, e.end_ns});
    if (times.empty()) return;
    std::ranges::sort(times);
    double before = 0;
    for (const std::int64_t time : times) {
      const double at = clock_->modelled(rank, time);
      EXPECT_GE(at, before);
      before = at;
    }
    EXPECT_LE(before, static_cast<double>(plain_.endOf(r)));
    EXPECT_GE(clock_->recordedAt(rank, before), times.front());
    EXPECT_LE(clock_->recordedAt(rank, before), times.back());
  }

  void expectLanes() const {
    std::size_t drawn = 0, meant = 0;
    for (const auto& rank : clock_->tracks->ranks)
      for (const auto& lane : rank.lanes) drawn += lane.size();
    for (const auto& events : clock_->events)
      meant += static_cast<std::size_t>(std::ranges::count_if(
          events, [](const Event& e) { return !isNoPart(e) && e.kind != EventKind::kReceive; }));
    EXPECT_EQ(drawn, meant) << "a message lies on its sender's lane";
  }

  void expectAccount() const {
    std::vector<WorldRank> ranks;
    for (int rank = 0; rank < c_.cp; ++rank)
      ranks.push_back(WorldRank::of(c_.worldOf(look_.group, rank)));
    const auto account = viz::makeStepAccount(*clock_, ranks);
    ASSERT_EQ(account.ranks.size(), ranks.size());
    Cost all, of_layers;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const Cost cost = expectRankAccount(account.ranks[i], ranks[i].index());
      all.exposed += cost.exposed;
      all.hidden += cost.hidden;
      all.late += cost.late;
      all.bytes += cost.bytes;
    }
    for (const auto& layer : account.layers) {
      of_layers.exposed += layer.exposure.exposed_ns;
      of_layers.hidden += layer.exposure.hidden_ns;
      of_layers.late += layer.exposure.late_ns;
      of_layers.bytes += layer.exposure.bytes;
    }
    EXPECT_EQ(of_layers.exposed, all.exposed);
    EXPECT_EQ(of_layers.hidden, all.hidden);
    EXPECT_EQ(of_layers.late, all.late);
    EXPECT_EQ(of_layers.bytes, all.bytes);
    EXPECT_TRUE(account.model);
    expectSentence(account.sentence, all);
    EXPECT_TRUE(account.caveat.starts_with("Model, not a measurement: ")) << account.caveat;
    for (const auto& section : account.sections)
      for (const auto& [what, how_much] : section.rows)
        EXPECT_TRUE(saysDuration(how_much, what == "model, own devices"
                                               ? static_cast<double>(end_)
                                               : static_cast<double>(recordedNs())))
            << what << ": " << how_much;
  }

  Cost expectRankAccount(const viz::RankAccount& shown, std::size_t r) const {
    SCOPED_TRACE("rank " + std::to_string(r));
    Cost cost;
    const auto& ops = program_.ranks[r].ops;
    std::int64_t attends = 0, hops = 0;
    for (std::size_t o = 0; o < ops.size(); ++o) {
      if (ops[o].kind == Kind::kWait || ops[o].kind == Kind::kCollective) {
        const Cost of_op = plain_.costOf(r, o);
        cost.exposed += of_op.exposed;
        cost.hidden += of_op.hidden;
        cost.late += of_op.late;
        cost.bytes += of_op.bytes;
        continue;
      }
      if (ops[o].event == Program::kNone) continue;
      const EventKind kind = program_.ranks[r].events[ops[o].event].kind;
      if (kind == EventKind::kAttend || kind == EventKind::kMerge)
        attends += plain_.ops[r][o].length();
    }
    for (const Event& e : clock_->events[r])
      hops += e.kind == EventKind::kSend &&
              (e.payload == traces::Payload::kKv || e.payload == traces::Payload::kDkv);
    EXPECT_EQ(shown.rank.index(), r);
    EXPECT_EQ(shown.exposure.exposed_ns, cost.exposed);
    EXPECT_EQ(shown.used(viz::TimeUse::kExposed), cost.exposed);
    EXPECT_EQ(shown.exposure.hidden_ns, cost.hidden);
    EXPECT_EQ(shown.exposure.late_ns, cost.late);
    EXPECT_EQ(shown.exposure.bytes, cost.bytes);
    EXPECT_EQ(shown.used(viz::TimeUse::kAttention), attends);
    EXPECT_EQ(shown.hops, hops);
    EXPECT_EQ(std::accumulate(shown.used_ns.begin(), shown.used_ns.end(), std::int64_t{0}),
              shown.step_ns);
    EXPECT_LE(shown.step_ns, plain_.endOf(r));
    return cost;
  }

  /// From the first begin to the last end, without what the rank spent in pauses and verification
  /// that was held most.
  std::int64_t recordedNs() const {
    std::int64_t first = INT64_MAX, last = 0, most = 0;
    for (int world = 0; world < c_.groups() * c_.cp; ++world) {
      std::int64_t held = 0;
      for (const Event& e : c_.trace->events(WorldRank::of(world))) {
        if (e.place.train_step != look_.step) continue;
        first = std::min(first, e.begin_ns);
        last = std::max(last, e.end_ns);
        held += isNoPart(e) ? e.end_ns - e.begin_ns : 0;
      }
      most = std::max(most, held);
    }
    return std::max<std::int64_t>(0, last - first - most);
  }

  void expectSentence(const std::string& says, const Cost& all) const {
    static const std::regex kWords(
        "Model: on (?:a link of (?:(\\S+) GB/s|endless bandwidth) and (\\S+) µs)( without overlap)?"
        "(?:, compute ×(\\S+),)? this step takes ([\\d.,]+ \\S+)( \\(recorded ([\\d.,]+ "
        "\\S+)\\))?; a rank "
        "stands still for ([\\d.,]+ \\S+) of it(?:, ([\\d.,]+ \\S+) of that for late peers)?"
        "(?:; (\\S+ %) of the communication is hidden)?\\.");
    std::smatch w;
    ASSERT_TRUE(std::regex_match(says, w, kWords)) << "no oracle knows this sentence: " << says;
    const traces::Hardware& on = clock_->hardware;
    EXPECT_EQ(w[1].matched, on.link.gigabytes_per_second > 0) << says;
    EXPECT_TRUE(!w[1].matched || saysSignificant(w[1], on.link.gigabytes_per_second, 3)) << says;
    EXPECT_TRUE(saysSignificant(w[2], on.link.latency_us, 3)) << says;
    EXPECT_EQ(w[3].matched, !on.overlap) << says;
    EXPECT_EQ(w[4].matched, on.compute_scale != 1) << says;
    EXPECT_TRUE(!w[4].matched || saysSignificant(w[4], on.compute_scale, 3)) << says;
    EXPECT_TRUE(saysDuration(w[5], static_cast<double>(end_))) << says;
    EXPECT_EQ(w[6].matched, clock_->recorded->own_cores) << says;
    EXPECT_TRUE(!w[6].matched || saysDuration(w[7], static_cast<double>(recordedNs()))) << says;
    const auto mean = [&](std::int64_t sum) {
      const std::int64_t each = sum / c_.cp;
      return static_cast<double>(each);
    };
    EXPECT_TRUE(saysDuration(w[8], mean(all.exposed))) << says;
    EXPECT_EQ(w[9].matched, all.late > 0) << says;
    EXPECT_TRUE(!w[9].matched || saysDuration(w[9], mean(all.late))) << says;
    const std::int64_t under_way = all.exposed - all.late + all.hidden;
    EXPECT_EQ(w[10].matched, under_way > 0) << says;
    EXPECT_TRUE(!w[10].matched ||
                saysShare(w[10], static_cast<double>(all.hidden) / static_cast<double>(under_way)))
        << says;
  }

  const Case& c_;
  const Look& look_;
  std::shared_ptr<const viz::OwnClock> clock_;
  const Program& program_;
  PlainReplay plain_;
  std::int64_t end_;
};

}  // namespace

void expectOwnClock(const Case& c, const Look& look, std::mt19937& random) {
  traces::Hardware hardware = drawHardware(random);
  hardware.link.shared = false;
  hardware.link.full_duplex = true;
  const auto recorded = viz::recordedStep(*c.trace, look.step);
  ASSERT_EQ(viz::whyNoModel(*recorded), "");
  OwnClockFacts(c, look, hardware).expect();
}

}  // namespace ringscope::facts
