// SPDX-License-Identifier: Apache-2.0
// Compares the account of a step on the own-device axis, and the reason for its end, with the times
// of an independent replay.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "tests/facts/own_clock_facts.h"
#include "tests/facts/said.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Payload;
using traces::Program;
using viz::TimeUse;
using Op = Program::Op;
using Cost = PlainReplay::Cost;

/// Returns the use of a rank's own time. A collective counts as waiting. An event that overlaps the
/// rank's own time has no use.
std::optional<TimeUse> ownUse(EventKind kind) {
  switch (kind) {
    case EventKind::kWait:
    case EventKind::kCollective:
      return TimeUse::kExposed;
    case EventKind::kAttend:
    case EventKind::kMerge:
      return TimeUse::kAttention;
    case EventKind::kGradSync:
    case EventKind::kClip:
    case EventKind::kOptimizer:
      return TimeUse::kSync;
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kPause:
    case EventKind::kVerify:
      return std::nullopt;
    default:
      return TimeUse::kCompute;
  }
}

using Uses = std::array<std::int64_t, viz::kTimeUses>;

/// Asks of every moment between two borders what a rank does in it; a wait comes before all, then
/// attention, then other work.
Uses usesOf(const OwnStep& step, std::size_t rank) {
  std::vector<std::pair<Times, TimeUse>> all, open;
  std::set<std::int64_t> borders;
  const auto& events = step.program().ranks[rank].events;
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    const Times times = step.meant.of(rank, e);
    const auto use = ownUse(events[e].kind);
    if (!use || times.length() <= 0) continue;
    all.emplace_back(times, *use);
    borders.insert({times.begin, times.end});
  }
  std::ranges::sort(all, {}, [](const auto& each) { return each.first.begin; });
  Uses uses{};
  auto next = all.begin();
  for (auto at = borders.begin(); at != borders.end() && std::next(at) != borders.end(); ++at) {
    std::erase_if(open, [&](const auto& each) { return each.first.end <= *at; });
    for (; next != all.end() && next->first.begin <= *at; ++next) open.push_back(*next);
    TimeUse use = TimeUse::kBetween;
    for (const TimeUse first :
         {TimeUse::kSync, TimeUse::kCompute, TimeUse::kAttention, TimeUse::kExposed})
      for (const auto& [times, used] : open)
        if (used == first) use = first;
    uses[static_cast<std::size_t>(use)] += *std::next(at) - *at;
  }
  return uses;
}

/// Forward before backward, layers as they are visited.
using Pass = std::tuple<int, int, int>;
Pass passOf(const traces::Place& place) {
  const int layer = place.layer.value();
  const bool backward = place.direction == traces::Direction::kBackward;
  return {backward, backward ? -layer : layer, layer};
}

struct Sums {
  std::map<int, Cost> ranks;
  std::map<Pass, Cost> passes;
  Cost all;

  Sums(const OwnStep& step, const std::vector<int>& of) {
    for (const int rank : of) {
      const auto r = static_cast<std::size_t>(rank);
      const Program::Rank& program = step.program().ranks[r];
      for (std::size_t o = 0; o < program.ops.size(); ++o) {
        const Op::Kind kind = program.ops[o].kind;
        if (kind != Op::Kind::kWait && kind != Op::Kind::kCollective) continue;
        const Cost cost = step.meant.cost(r, o);
        ranks[rank] += cost;
        passes[passOf(program.events[program.ops[o].event].place)] += cost;
        all += cost;
      }
    }
  }
};

void expectExposure(const viz::Exposure& shown, const Cost& meant) {
  EXPECT_EQ(shown.exposed_ns, meant.exposed);
  EXPECT_EQ(shown.hidden_ns, meant.hidden);
  EXPECT_EQ(shown.late_ns, meant.late);
  EXPECT_EQ(shown.bytes, meant.bytes);
  EXPECT_EQ(shown.underWayNs(), meant.under_way);
}

void expectRank(const viz::RankAccount& shown, const OwnStep& step, int rank, const Cost& meant) {
  SCOPED_TRACE("rank " + std::to_string(rank));
  EXPECT_EQ(shown.rank.value(), rank);
  const Uses uses = usesOf(step, static_cast<std::size_t>(rank));
  std::int64_t sum = 0, hops = 0;
  for (std::size_t use = 0; use < uses.size(); ++use) {
    EXPECT_EQ(shown.used_ns[use], uses[use]) << traces::title(static_cast<TimeUse>(use));
    sum += uses[use];
  }
  EXPECT_EQ(shown.step_ns, sum);
  expectExposure(shown.exposure, meant);
  for (const Event& event : step.trace.events(traces::WorldRank::of(rank)))
    hops += event.place.train_step == step.clock.train_step && event.kind == EventKind::kSend &&
            (event.payload == Payload::kKv || event.payload == Payload::kDkv);
  EXPECT_EQ(shown.hops, hops);
}

/// From the first begin to the last end of all ranks, without what one was held at most.
std::int64_t recordedLength(const OwnStep& step) {
  std::int64_t begin = INT64_MAX, end = 0, held = 0;
  for (int rank = 0; rank < step.trace.worldSize(); ++rank) {
    std::int64_t of_rank = 0;
    for (const Event& event : step.trace.events(traces::WorldRank::of(rank))) {
      if (event.place.train_step != step.clock.train_step) continue;
      begin = std::min(begin, event.begin_ns);
      end = std::max(end, event.end_ns);
      if (!isModelled(event)) of_rank += event.duration();
    }
    held = std::max(held, of_rank);
  }
  return std::max<std::int64_t>(0, end - begin - held);
}

bool hasOwnCores(const traces::Trace& trace) {
  const traces::RunSpec* run = trace.run();
  return run && run->cores > 0 && run->dp * run->tp * run->cp <= run->cores;
}

void expectSentence(const std::string& says, const OwnStep& step, const Cost& all, int ranks) {
  SCOPED_TRACE(says);
  static const std::regex kSentence(
      "Model: on (.*) this step takes ([^ ]+ [^ ]+?)(?: \\(recorded ([^)]*)\\))?; on average a "
      "rank "
      "stands still for ([^ ]+ [^ ]+) of it(?:, ([^ ]+ [^ ]+) of that for late peers)?(?:; (\\d+ "
      "%) "
      "of the time that communication is in flight is hidden)?; (?:(\\w+)-bound \\((\\d+ %) of the "
      "critical path\\)|bound by no single limit|nothing takes time)\\.");
  std::smatch words;
  ASSERT_TRUE(std::regex_match(says, words, kSentence)) << "no oracle knows this sentence";
  const auto mean = [ranks](std::int64_t sum) {
    const std::int64_t of_rank = sum / ranks;
    return static_cast<double>(of_rank);
  };
  expectHardware(words[1], step.clock.hardware);
  EXPECT_TRUE(saysDuration(words[2], static_cast<double>(step.meant.end())));
  EXPECT_EQ(words[3].matched, hasOwnCores(step.trace)) << "on shared cores it is the scheduler's";
  if (words[3].matched) {
    EXPECT_TRUE(saysDuration(words[3], static_cast<double>(recordedLength(step))));
  }
  EXPECT_TRUE(saysDuration(words[4], mean(all.exposed)));
  EXPECT_EQ(words[5].matched, all.late > 0);
  if (words[5].matched) {
    EXPECT_TRUE(saysDuration(words[5], mean(all.late)));
  }
  EXPECT_EQ(words[6].matched, all.under_way > 0);
  if (words[6].matched) {
    EXPECT_TRUE(
        saysShare(words[6], static_cast<double>(all.hidden) / static_cast<double>(all.under_way)));
  }
}

/// The limits are those of a path as long as the step, and the sentence names the same as the
/// table.
void expectLimits(const viz::StepAccount& account, const OwnStep& step) {
  ASSERT_TRUE(account.limits);
  const traces::StepLimits& limits = *account.limits;
  EXPECT_EQ(limits.total(), step.meant.end());
  EXPECT_EQ(limits.of(traces::Limit::kCompute) + limits.of(traces::Limit::kMemory), 0)
      << "a recording does not tell them apart";
  const traces::Floors& floors = step.clock.hardware.floors;
  if (floors.kernel_us == 0) {
    EXPECT_EQ(limits.of(traces::Limit::kLaunch), 0);
  }
  const viz::AccountSection& section = account.sections.at(1);
  EXPECT_EQ(section.title, "WHAT DETERMINES THE STEP BY THE MODEL");
  const std::map<std::string, std::string> rows(section.rows.begin(), section.rows.end());
  for (const traces::Limit limit :
       {traces::Limit::kLaunch, traces::Limit::kWork, traces::Limit::kLink}) {
    const auto row = rows.find(traces::limitWords(limit));
    ASSERT_EQ(row != rows.end(), limits.of(limit) > 0) << traces::limitWords(limit);
    if (row == rows.end()) continue;
    const auto dot = row->second.find(" · ");
    EXPECT_TRUE(saysDuration(row->second.substr(0, dot), static_cast<double>(limits.of(limit))));
    EXPECT_TRUE(saysShare(row->second.substr(dot + 4), limits.share(limit))) << row->second;
  }
  EXPECT_EQ(rows.at("least time of a kernel") == "none", floors.kernel_us == 0);
  EXPECT_EQ(rows.at("least time of a transfer") == "none", floors.collective_us == 0);
  EXPECT_TRUE(account.sentence.ends_with("; " + traces::limitVerdict(limits) + "."));
}

void expectSections(const viz::StepAccount& account, const OwnStep& step) {
  ASSERT_EQ(account.sections.size(), 2U);
  const viz::AccountSection& section = account.sections.front();
  EXPECT_EQ(section.title, "RECORDED AGAINST MODEL");
  ASSERT_EQ(section.rows.size(), 2U);
  EXPECT_EQ(section.rows[0].first,
            hasOwnCores(step.trace) ? "recorded, a core for each rank" : "recorded, shared cores");
  EXPECT_TRUE(saysDuration(section.rows[0].second, static_cast<double>(recordedLength(step))));
  EXPECT_EQ(section.rows[1].first, "model, own devices");
  EXPECT_TRUE(saysDuration(section.rows[1].second, static_cast<double>(step.meant.end())));
}

/// Time of a rank in which nothing is recorded.
std::int64_t betweenEvents(const OwnStep& step) {
  std::int64_t between = 0;
  for (const auto& events : step.clock.recorded->events) {
    std::vector<Times> own;
    for (const Event& event : events)
      if (!isUnderWay(event)) own.push_back({event.begin_ns, event.end_ns});
    std::ranges::sort(own, {}, &Times::begin);
    for (std::int64_t until = own.empty() ? 0 : own.front().begin; const Times& each : own) {
      between += std::max<std::int64_t>(0, each.begin - until);
      until = std::max(until, each.end);
    }
  }
  return between;
}

void expectCaveat(const std::string& says, const OwnStep& step) {
  const traces::Hardware& hardware = step.clock.hardware;
  std::string meant =
      "Model, not a measurement: each stage takes the CPU or device time that was recorded for it";
  if (hardware.compute_scale != 1) meant += " ÷ " + viz::describeFigure(hardware.compute_scale);
  if (hardware.floors.kernel_us > 0) meant += ", but at least the least time of its kernels";
  meant += "; each message takes its bytes over this link";
  if (hardware.floors.collective_us > 0) meant += ", but at least the least time of a transfer";
  meant += ".";
  if (hardware.device)
    meant += " The speed of " + hardware.device->name +
             " is that of attention; other stages are taken to be as many times quicker.";
  if (!hasOwnCores(step.trace) && betweenEvents(step) >= std::ssize(step.program().ranks))
    meant +=
        " Also assumed: what ranks did between recorded stages is left out: their cores were "
        "shared, so its wall time says nothing.";
  EXPECT_EQ(says, meant);
}

}  // namespace

void expectOwnAccount(const OwnStep& step, const std::vector<int>& ranks) {
  std::vector<traces::WorldRank> of;
  for (const int rank : ranks) of.push_back(traces::WorldRank::of(rank));
  const viz::StepAccount account = traces::makeStepAccount(step.clock, of);
  Sums sums(step, ranks);
  EXPECT_TRUE(account.model);
  EXPECT_FALSE(account.shared_cores);
  EXPECT_EQ(account.train_step, step.clock.train_step);
  ASSERT_EQ(account.ranks.size(), ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    expectRank(account.ranks[i], step, ranks[i], sums.ranks[ranks[i]]);
  EXPECT_EQ(account.timed, account.stepNs() > 0);
  ASSERT_EQ(account.layers.size(), sums.passes.size());
  auto shown = account.layers.begin();
  for (const auto& [pass, cost] : sums.passes) {
    SCOPED_TRACE("layer " + std::to_string(std::get<2>(pass)));
    EXPECT_EQ(shown->layer.value(), std::get<2>(pass));
    EXPECT_EQ(shown->direction == traces::Direction::kBackward, std::get<0>(pass) == 1);
    expectExposure((shown++)->exposure, cost);
  }
  expectSentence(account.sentence, step, sums.all, static_cast<int>(ranks.size()));
  expectSections(account, step);
  expectLimits(account, step);
  viz::Exposure rows;
  for (const viz::LayerAccount& layer : account.layers) rows += layer.exposure;
  EXPECT_EQ(rows, account.exposure()) << "the rows of the table add up to its last";
  expectCaveat(account.caveat, step);
}

}  // namespace ringscope::facts
