// SPDX-License-Identifier: Apache-2.0
// Checks the critical path of a step when each rank has a device of its own. The path has no gaps,
// and each link is work, or a message or a collective that a rank waited for.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/facts/own_clock_facts.h"
#include "tests/facts/said.h"
#include "viz/views/timeline/account_scene.h"

namespace ringscope::facts {
namespace {

using traces::Payload;
using traces::Program;
using viz::ChainLink;
using viz::LaneKind;
using Op = Program::Op;

LaneKind laneMeant(Payload payload) {
  if (payload == Payload::kKv) return LaneKind::kKv;
  return payload == Payload::kDkv ? LaneKind::kDkv : LaneKind::kCollective;
}

/// Goes along a chain, with all ranks that may have been meant: work stays on its rank, a message
/// leads from who posted it last to who waited for it.
class Chain {
 public:
  Chain(const OwnStep& step, const std::vector<ChainLink>& links) : step_(step), links_(links) {}

  void expect() {
    std::int64_t until = 0;
    reached_.resize(links_.size() + 1);
    for (int rank = 0; rank < static_cast<int>(step_.program().ranks.size()); ++rank)
      reached_[0].insert(rank);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const ChainLink& link = links_[i];
      EXPECT_EQ(link.begin_ns, until) << "no gaps";
      EXPECT_GT(link.length(), 0);
      until = link.end_ns;
      overNoTime(reached_[i], link.begin_ns);
      link.kind == ChainLink::Kind::kWork ? overWork(i) : overTransfer(i);
      const bool within_message = i + 2 < reached_.size() && !reached_[i + 2].empty();
      ASSERT_TRUE(!reached_[i + 1].empty() || within_message)
          << "nothing of this schedule is link " << i << " of rank " << toString(link.rank);
    }
    EXPECT_EQ(until, step_.meant.end());
  }

 private:
  /// Adds the ranks that are reached through messages and collectives that take no time. They are
  /// no links of the path.
  void overNoTime(std::set<int>& on, std::int64_t now) const {
    for (std::size_t before = 0; before != on.size();) {
      before = on.size();
      for (std::size_t m = 0; m < step_.meant.moves.size(); ++m) {
        const PlainReplay::Move& move = step_.meant.moves[m];
        if (move.ready != now || !postedLastBy(m, on)) continue;
        if (move.left == now) on.insert(step_.program().messages[m].from.value());
        if (move.end == now) on.insert(step_.program().messages[m].to.value());
      }
      for (std::uint32_t c = 0; c < step_.meant.collectives.size(); ++c)
        if (step_.meant.collectives[c] == Times{now, now} &&
            std::ranges::any_of(on, [&](int rank) { return joinsLast(rank, c); }))
          for (int rank = 0; rank < static_cast<int>(step_.program().ranks.size()); ++rank)
            if (joins(rank, c)) on.insert(rank);
    }
  }

  bool postedLastBy(std::size_t m, const std::set<int>& on) const {
    const Program::Message& message = step_.program().messages[m];
    const auto& [sent, taken] = step_.meant.posted[m];
    return (sent >= taken && on.contains(message.from.value())) ||
           (taken >= sent && on.contains(message.to.value()));
  }

  void overWork(std::size_t i) {
    const ChainLink& link = links_[i];
    EXPECT_EQ(link.lane, LaneKind::kCompute);
    const auto r = link.rank.index();
    const auto& ops = step_.program().ranks[r].ops;
    for (std::size_t o = 0; o < ops.size(); ++o)
      if (ops[o].kind == Op::Kind::kWork && reached_[i].contains(link.rank.value()) &&
          step_.meant.ops[r][o] == Times{link.begin_ns, link.end_ns})
        reached_[i + 1].insert(link.rank.value());
  }

  void overTransfer(std::size_t i) {
    const ChainLink& link = links_[i];
    if (link.kind == ChainLink::Kind::kMove && link.lane == LaneKind::kCollective)
      overCollective(i);
    for (std::size_t m = 0; m < step_.program().messages.size(); ++m) overMessage(i, m);
  }

  void overCollective(std::size_t i) {
    const ChainLink& link = links_[i];
    for (std::uint32_t c = 0; c < step_.meant.collectives.size(); ++c)
      if (step_.meant.collectives[c] == Times{link.begin_ns, link.end_ns} &&
          joins(link.rank.value(), c) &&
          std::ranges::any_of(reached_[i], [&](int rank) { return joinsLast(rank, c); }))
        reached_[i + 1].insert(link.rank.value());
  }

  /// When a rank comes to a collective; nothing: never.
  std::optional<std::int64_t> joins(int rank, std::uint32_t c) const {
    const auto r = static_cast<std::size_t>(rank);
    const auto& ops = step_.program().ranks[r].ops;
    for (std::size_t o = 0; o < ops.size(); ++o)
      if (ops[o].kind == Op::Kind::kCollective && ops[o].subject == c)
        return step_.meant.ops[r][o].begin;
    return {};
  }
  bool joinsLast(int rank, std::uint32_t c) const {
    return joins(rank, c) == step_.meant.collectives[c].begin;
  }

  /// A message that stood before its link was free takes two links.
  void overMessage(std::size_t i, std::size_t m) {
    const Program::Message& message = step_.program().messages[m];
    const PlainReplay::Move& move = step_.meant.moves[m];
    if (move.ready != links_[i].begin_ns || !postedLastBy(m, reached_[i])) return;
    std::size_t next = i;
    if (move.start > move.ready &&
        !isLink(next++, m, move.ready, move.start, ChainLink::Kind::kWait))
      return;
    const auto ends = [&](std::int64_t end, traces::WorldRank rank) {
      if (end == move.start && next > i) reached_[next].insert(rank.value());
      if (end > move.start && isLink(next, m, move.start, end, ChainLink::Kind::kMove))
        reached_[next + 1].insert(rank.value());
    };
    ends(move.left, message.from);
    ends(move.end, message.to);
  }

  bool isLink(std::size_t i, std::size_t m, std::int64_t begin, std::int64_t end,
              ChainLink::Kind kind) const {
    const Program::Message& message = step_.program().messages[m];
    const auto& sent = step_.program().ranks[message.from.index()].events[message.send_event];
    return i < links_.size() &&
           links_[i] == ChainLink{message.from, laneMeant(sent.payload), begin, end, kind};
  }

  const OwnStep& step_;
  const std::vector<ChainLink>& links_;
  std::vector<std::set<int>> reached_;  ///< before each link
};

void expectShares(const viz::AccountSection& section, const std::vector<ChainLink>& links) {
  EXPECT_EQ(section.title, "CRITICAL PATH");
  std::int64_t all = 0;
  std::map<ChainLink::Kind, std::int64_t> kinds;
  std::map<int, std::int64_t> ranks;
  for (const ChainLink& link : links) {
    all += link.end_ns - link.begin_ns;
    kinds[link.kind] += link.end_ns - link.begin_ns;
    ranks[link.rank.value()] += link.end_ns - link.begin_ns;
  }
  std::int64_t others = all;
  std::map<std::string, std::int64_t> meant = {{"computing", kinds[ChainLink::Kind::kWork]},
                                               {"sending", kinds[ChainLink::Kind::kMove]},
                                               {"waiting", kinds[ChainLink::Kind::kWait]}};
  for (const auto& [rank, ns] : ranks) meant["in rank " + std::to_string(rank)] = ns;
  ASSERT_EQ(section.rows.size(), 3 + std::min<std::size_t>(ranks.size(), 5));
  std::int64_t last = INT64_MAX;
  for (const auto& [what, says] : section.rows) {
    SCOPED_TRACE(what + ": " + says);
    if (what == "in other ranks") {
      EXPECT_TRUE(saysDuration(says, static_cast<double>(others)));
      continue;
    }
    ASSERT_TRUE(meant.contains(what));
    const std::int64_t ns = meant[what];
    const auto dot = says.find(" · ");
    ASSERT_NE(dot, std::string::npos);
    EXPECT_TRUE(saysDuration(says.substr(0, dot), static_cast<double>(ns)));
    EXPECT_TRUE(
        saysShare(says.substr(dot + std::string(" · ").size()),
                  static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(1, all))));
    meant.erase(what);
    if (!what.starts_with("in rank")) continue;
    EXPECT_LE(ns, last) << "the longest first";
    last = ns;
    others -= ns;
  }
  EXPECT_EQ(others > 0, ranks.size() > 4);
}

}  // namespace

void expectCriticalPath(const OwnStep& step) {
  const auto chain = viz::criticalChain(step.clock);
  Chain(step, chain->links).expect();
  expectShares(viz::chainSection(*chain), chain->links);
}

}  // namespace ringscope::facts
