// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/facts/scene_facts.h"
#include "viz/scene/ring_scene.h"

namespace ringscope::facts {

using viz::RankScene;
using viz::RingScene;

namespace {

/// One view of one ring step, and what the plan says of it.
class RingFacts {
 public:
  RingFacts(const Case& c, const Look& look)
      : c_(c),
        look_(look),
        oracle_(c.oracle(look.step, look.group)),
        chunks_(oracle_.chunks(c.stats)),
        scene_(viz::makeRingScene(*c.trace, look.cursor(c))) {}

  void expect() const {
    ASSERT_EQ(scene_.ranks.size(), static_cast<std::size_t>(c_.cp));
    EXPECT_EQ(scene_.ring_steps, oracle_.ringSteps());
    EXPECT_EQ(scene_.heads_shared_by, oracle_.plan().ulysses);
    EXPECT_EQ(scene_.chunk_count, static_cast<int>(chunks_.size()));
    for (int rank = 0; rank < c_.cp; ++rank) {
      SCOPED_TRACE("rank " + std::to_string(rank) + " of the group");
      expectRank(rank, scene_.ranks[static_cast<std::size_t>(rank)]);
    }
    expectRings();
    expectHops();
    expectSentence(c_, look_, scene_.sentence);
  }

 private:
  int world(int rank) const { return c_.worldRankFor(look_.group, rank); }
  std::vector<int> sourcesAt(int rank, int step) const {
    return oracle_.sources(rank, step, look_.backward);
  }
  std::vector<int> attendedAt(int rank, int step) const {
    return oracle_.attended(rank, step, look_.backward);
  }

  void expectRank(int rank, const RankScene& says) const {
    const auto held = sourcesAt(rank, look_.ring_step);
    const auto attended = attendedAt(rank, look_.ring_step);
    EXPECT_EQ(says.rank.value(), world(rank));
    EXPECT_EQ(says.held_source.value(), held.size() == 1 ? world(held.front()) : -1);
    std::vector<int> sources;
    for (const auto source : says.sources) sources.push_back(source.value());
    EXPECT_EQ(sources, worlds(c_, look_.group, attended));
    const auto queries = oracle_.queries(rank, held);
    EXPECT_EQ(says.queries, std::ssize(queries));
    const bool owners_known = c_.stats || oracle_.plan().ulysses == 1;
    const std::set<int> own(oracle_.own(rank).begin(), oracle_.own(rank).end());
    EXPECT_EQ(std::set<int>(says.chunks.begin(), says.chunks.end()),
              owners_known ? chunksWith(chunks_, own) : std::set<int>());
    expectCells(rank, says);
    expectAttending(rank, says);
    if (!look_.backward) expectLse(rank, says);
    expectTimes(rank, says);
  }

  void expectCells(int rank, const RankScene& says) const {
    std::set<std::array<int, 4>> expected, shown;
    for (int step = 0; step <= look_.ring_step; ++step)
      for (const int source : sourcesAt(rank, step)) addCells(rank, source, step, expected);
    for (const auto& cell : says.cells)
      shown.insert({cell.query_chunk, cell.key_chunk, cell.source_rank.value(), cell.now});
    EXPECT_EQ(shown, expected);
    EXPECT_EQ(shown.size(), says.cells.size()) << "a cell is there once";
  }

  void addCells(int rank, int source, int step, std::set<std::array<int, 4>>& cells) const {
    std::map<int, int> chunk_of;
    for (std::size_t i = 0; i < chunks_.size(); ++i)
      for (const int token : chunks_[i]) chunk_of[token] = static_cast<int>(i);
    const auto keys = oracle_.attended(source);
    for (const int q : oracle_.attended(rank))
      for (const int k : keys)
        if (oracle_.allowed(q, k))
          cells.insert({chunk_of[q], chunk_of[k], world(source), step == look_.ring_step});
  }

  void expectAttending(int rank, const RankScene& says) const {
    const auto held = sourcesAt(rank, look_.ring_step);
    const auto queries = oracle_.queries(rank, held);
    std::smatch words;
    if (queries.empty()) {
      EXPECT_NE(says.idle.find(briefWords(oracle_.reason(rank, held))), std::string::npos)
          << says.idle;
      EXPECT_EQ(says.attending, "attends nothing: " + says.idle);
      return;
    }
    EXPECT_EQ(says.idle, "");
    ASSERT_TRUE(std::regex_match(says.attending, words, std::regex("queries (.*) × keys (.*)")))
        << says.attending;
    std::set<int> keys;
    for (const int source : held) keys.merge(oracle_.keys(rank, source));
    EXPECT_EQ(numbersIn(words[1]), chunksWith(chunks_, queries)) << says.attending;
    EXPECT_EQ(numbersIn(words[2]), chunksWith(chunks_, keys)) << says.attending;
  }

  bool lseIsPlain() const { return c_.mistake != "nan_from_one_rank"; }

  void expectLse(int rank, const RankScene& says) const {
    if (!lseIsPlain()) return;
    const SeenRows before = seenRows(c_, look_, rank, look_.ring_step - 1),
                   after = seenRows(c_, look_, rank, look_.ring_step);
    EXPECT_EQ(says.lse_before.rows, before.rows);
    EXPECT_EQ(says.lse_after.rows, after.rows);
    if (!c_.numbers_are_exact) return;
    if (before.rows > 0 && !std::isnan(before.mean)) {
      EXPECT_NEAR(says.lse_before.mean, before.mean, c_.tolerance);
    }
    if (after.rows > 0 && !std::isnan(after.mean)) {
      EXPECT_NEAR(says.lse_after.mean, after.mean, c_.tolerance);
    }
  }

  void expectTimes(int rank, const RankScene& says) const {
    std::int64_t attend = 0, wait = 0, sums = 0;
    std::set<int> peers;
    std::vector<std::pair<std::int64_t, int>> each, shown;  // how long, and for whom
    for (const auto& event : eventsFor(c_, world(rank), look_.place())) {
      const std::int64_t took = event.end_ns - event.begin_ns;
      const bool waits = event.kind == traces::EventKind::kWait;
      const bool of_sums = event.payload == traces::Payload::kDkv;
      attend += event.kind == traces::EventKind::kAttend ? took : 0;
      wait += waits && !of_sums ? took : 0;
      sums += waits && of_sums ? took : 0;
      if (!waits || of_sums) continue;
      peers.insert(event.peer.value());
      each.emplace_back(took, event.peer.value());
    }
    for (const auto& one : says.waits) {
      shown.emplace_back(one.ns, one.peer.value());
      EXPECT_LE(one.begin, one.end);
    }
    EXPECT_EQ(shown, each);
    EXPECT_EQ(says.waits_for.value(), peers.size() == 1 ? *peers.begin() : -1);
    EXPECT_EQ(says.attend_ns, attend);
    EXPECT_EQ(says.wait_ns, wait);
    EXPECT_EQ(says.sums_wait_ns, sums);
  }

  void expectRings() const {
    std::set<std::vector<int>> expected, shown;
    for (int rank = 0; rank < c_.cp; ++rank)
      expected.insert(worlds(c_, look_.group, oracle_.ring(rank)));
    for (const auto& ring : scene_.rings) {
      std::vector<int> members;
      members.reserve(ring.size());
      for (const auto rank : ring) members.push_back(rank.value());
      shown.insert(members);
    }
    EXPECT_EQ(shown, expected);
    const std::string text = scene_.ringsText();
    const bool several = expected.size() > 1 && oracle_.ringSize() > 1;
    EXPECT_EQ(text.empty(), !several) << text;
    if (several) {
      EXPECT_EQ(std::stoul(text), expected.size()) << text;
    }
  }

  void expectHops() const {
    std::vector<Hop> expected, shown;
    for (int rank = 0; rank < c_.cp; ++rank)
      for (Hop hop : oracle_.hops(rank, look_.ring_step, look_.backward)) {
        hop.from = world(hop.from);
        hop.to = world(hop.to);
        hop.source = world(hop.source);
        expected.push_back(hop);
      }
    for (const auto& packet : scene_.packets)
      shown.push_back({traces::name(packet.payload), packet.from.value(), packet.to.value(),
                       packet.source_rank.value(), packet.bytes});
    std::ranges::sort(expected);
    std::ranges::sort(shown);
    EXPECT_EQ(inWords(shown), inWords(expected));
  }
  static std::vector<std::string> inWords(const std::vector<Hop>& hops) {
    std::vector<std::string> words;
    words.reserve(hops.size());
    for (const Hop& h : hops)
      words.push_back(h.payload + " " + std::to_string(h.from) + "→" + std::to_string(h.to) +
                      " of " + std::to_string(h.source) + ": " + std::to_string(h.bytes));
    return words;
  }

  const Case& c_;
  const Look& look_;
  const PlanOracle& oracle_;
  std::vector<std::vector<int>> chunks_;
  RingScene scene_;
};

}  // namespace

void expectRing(const Case& c, const Look& look) {
  RingFacts(c, look).expect();
}

}  // namespace ringscope::facts
