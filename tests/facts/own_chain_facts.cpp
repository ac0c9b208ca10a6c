// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/facts/own_clock_facts.h"
#include "tests/facts/said.h"
#include "viz/scene/critical_chain.h"

namespace ringscope::facts {
namespace {

using Kind = traces::Program::Op::Kind;

std::int64_t workWithin(const viz::OwnClock& clock, const PlainReplay& plain,
                        const viz::ChainLink& link) {
  std::int64_t sum = 0;
  const auto& ops = clock.recorded->program.ranks[link.rank.index()].ops;
  for (std::size_t o = 0; o < ops.size(); ++o) {
    if (ops[o].kind != Kind::kWork) continue;
    const When& when = plain.ops[link.rank.index()][o];
    sum += std::max<std::int64_t>(
        0, std::min(when.end, link.end_ns) - std::max(when.begin, link.begin_ns));
  }
  return sum;
}

bool moves(const viz::OwnClock& clock, const PlainReplay& plain, const viz::ChainLink& link) {
  const auto covers = [&](const When& when) {
    return when.begin <= link.begin_ns && link.end_ns <= when.end;
  };
  for (std::size_t m = 0; m < clock.recorded->program.messages.size(); ++m)
    if (clock.recorded->program.messages[m].from == link.rank && covers(plain.messages[m]))
      return true;
  return link.lane == viz::LaneKind::kCollective && std::ranges::any_of(plain.collectives, covers);
}

}  // namespace

/// Without gaps to the end: over work of a rank, messages that move, and what holds them up.
void expectChain(const viz::OwnClock& clock, const PlainReplay& plain) {
  const auto chain = viz::criticalChain(clock);
  std::int64_t until = 0, computing = 0, sending = 0;
  for (const viz::ChainLink& link : chain->links) {
    EXPECT_EQ(link.begin_ns, until);
    EXPECT_GT(link.end_ns, link.begin_ns);
    until = link.end_ns;
    if (link.kind == viz::ChainLink::Kind::kWork) {
      computing += link.length();
      EXPECT_EQ(workWithin(clock, plain, link), link.length()) << "its rank works all that time";
    }
    if (link.kind != viz::ChainLink::Kind::kMove) continue;
    sending += link.length();
    EXPECT_TRUE(moves(clock, plain, link)) << "nothing of it is under way all that time";
  }
  EXPECT_EQ(until, plain.end());
  for (const auto& [what, how_much] : viz::sectionOf(*chain).rows) {
    if (what != "computing" && what != "sending") continue;
    const std::int64_t ns = what == "computing" ? computing : sending;
    const auto point = how_much.find(" · ");
    EXPECT_TRUE(saysDuration(how_much.substr(0, point), static_cast<double>(ns))) << how_much;
    EXPECT_TRUE(saysShare(
        how_much.substr(point + std::string(" · ").size()),
        static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(1, plain.end()))))
        << how_much;
  }
}

}  // namespace ringscope::facts
