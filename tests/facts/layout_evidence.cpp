// SPDX-License-Identifier: Apache-2.0
// The sentences of findings about how buffers and heads are dealt to the ranks.
#include <limits>
#include <numeric>

#include "tests/facts/finding_facts.h"

namespace ringscope::facts {
namespace {

class LayoutFacts : FindingFacts {
 public:
  using FindingFacts::FindingFacts;

  /// Checks the position ids of a row to which the balance was applied once for each row of the
  /// batch.
  void ofAliases() const {
    ASSERT_TRUE(
        says("All ([\\d,]+) rows of the batch have the same position ids, and these are the "
             "tokens' after the balance was applied ([\\d,]+) times in place of once: ([\\d,]+) of "
             "([\\d,]+) are another token's\\."));
    const Plan& plan = oracle_.plan();
    std::vector<int> order, used;
    for (int rank = 0; rank < plan.cp; ++rank)
      order.insert(order.end(), oracle_.own(rank).begin(), oracle_.own(rank).end());
    used.resize(order.size());
    std::iota(used.begin(), used.end(), 0);
    for (int row = 0; row < plan.batch; ++row) {
      const auto before = used;
      for (std::size_t i = 0; i < used.size(); ++i)
        used[i] = before[static_cast<std::size_t>(order[i])];
    }
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < used.size(); ++i) wrong += used[i] != order[i];
    EXPECT_EQ(number(1), plan.batch);
    EXPECT_EQ(number(2), plan.batch);
    EXPECT_EQ(number(3), wrong);
    EXPECT_EQ(number(4), plan.length);
    expectFirstRank();
    EXPECT_EQ(f_.buffer, "position_ids");
  }

  void ofDimension() const {
    ASSERT_TRUE(
        says("The sequence of (\\S+) is dimension (\\d+), and it was cut along dimension (\\d+), "
             "from \\((\\d+), (\\d+)\\) to \\((\\d+), (\\d+)\\)\\."));
    const Plan& plan = oracle_.plan();
    EXPECT_EQ(words_[1], f_.buffer);
    EXPECT_EQ(number(2), 1);
    EXPECT_EQ(number(3), 0);
    EXPECT_EQ(number(4), plan.batch);
    EXPECT_EQ(number(5), plan.length);
    EXPECT_EQ(number(6), plan.batch / plan.cp);
    EXPECT_EQ(number(7), plan.length);
    EXPECT_EQ(step_, 0);
  }

  /// The whole sequence is dealt as head and tail, whatever documents it has.
  void ofDocuments() const {
    ASSERT_TRUE(
        says("The declared balance is per_document, of ([\\d,]+) documents?, and the rank holds "
             "([\\d,]+) runs? of tokens, the first from token (\\d+) to (\\d+), which are not head "
             "and tail of each: the work of a rank goes from ([\\d,]+) to ([\\d,]+) \\(query, "
             "key\\) pairs?\\."));
    const PlanOracle used = cutWherever();
    EXPECT_EQ(number(1), std::ssize(oracle_.plan().documents));
    const auto runs = toRuns(used.own(rank_));
    EXPECT_EQ(number(2), std::ssize(runs));
    EXPECT_EQ(number(3), runs.front().begin);
    EXPECT_EQ(number(4), runs.front().end - 1);
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (int rank = 0; rank < c_.cp; ++rank) {
      std::int64_t pairs = 0;
      for (const int q : used.own(rank))
        for (int k = 0; k < used.plan().length; ++k) pairs += used.allowed(q, k);
      least = std::min(least, pairs);
      most = std::max(most, pairs);
    }
    EXPECT_EQ(number(5), least);
    EXPECT_EQ(number(6), most);
    EXPECT_NE(used.own(rank_), oracle_.own(rank_));
  }

  /// Checks the evidence for a sequence whose length the ranks do not divide: no rank owns the last
  /// tokens.
  void ofRest() const {
    ASSERT_TRUE(
        says("The sequence has ([\\d,]+) tokens?, and tokens? (\\d+)(?: to (\\d+) are| is) on none "
             "of its (\\d+) ranks\\."));
    EXPECT_EQ(number(1), c_.unpadded);
    EXPECT_EQ(number(2), oracle_.plan().length);
    EXPECT_EQ(words_[3].matched, c_.unpadded - oracle_.plan().length > 1);
    if (words_[3].matched) {
      EXPECT_EQ(number(3), c_.unpadded - 1);
    }
    EXPECT_EQ(number(4), c_.cp);
    EXPECT_TRUE(f_.rank.isNone());
    EXPECT_EQ(step_, 0);
  }

  void ofWhole() const {
    ASSERT_TRUE(
        says("Rank (\\d+) holds all ([\\d,]+) tokens of a sequence that is configured for (\\d+) "
             "ranks, as do (\\d+) of these (\\d+): .*"));
    EXPECT_EQ(number(1), f_.rank.value());
    EXPECT_EQ(number(2), oracle_.plan().length);
    EXPECT_EQ(number(3), c_.cp);
    EXPECT_EQ(number(4), c_.cp);
    EXPECT_EQ(number(5), c_.cp);
    EXPECT_EQ(step_, 0);
  }

  /// Each rank takes its part rounded down.
  void ofHeads() const {
    ASSERT_TRUE(
        says("(\\d+) query heads are shared by (\\d+) ranks, of which rank (\\d+) attends (\\d+); "
             "heads? (\\d+)(?: to (\\d+) are| is) attended by none\\."));
    const Plan& plan = oracle_.plan();
    const int heads = plan.heads / plan.tp, attended = heads / plan.ulysses * plan.ulysses;
    const int first = group_ % c_.tp * heads;
    EXPECT_EQ(number(1), heads);
    EXPECT_EQ(number(2), plan.ulysses);
    EXPECT_EQ(number(3), f_.rank.value());
    EXPECT_EQ(number(4), heads / plan.ulysses);
    EXPECT_EQ(number(5), first + attended);
    EXPECT_EQ(words_[6].matched, heads - attended > 1);
    if (words_[6].matched) {
      EXPECT_EQ(number(6), first + heads - 1);
    }
    EXPECT_EQ(step_, 0);
  }

 private:
  void expectFirstRank() const {
    EXPECT_EQ(f_.rank.value(), 0);
    EXPECT_EQ(step_, 0);
  }
  PlanOracle cutWherever() const {
    Plan plan = oracle_.plan();
    plan.dealing = Dealing::kHeadTail;
    return PlanOracle(plan);
  }
  static std::vector<Span> toRuns(const std::vector<int>& tokens) {
    std::vector<Span> runs;
    for (const int token : tokens) {
      if (runs.empty() || runs.back().end != token) runs.push_back({token, token});
      runs.back().end = token + 1;
    }
    return runs;
  }
};

}  // namespace

const Sentences& layoutSentences() {
  static const Sentences kSentences = {
      {"aliased_buffer", compared<LayoutFacts, &LayoutFacts::ofAliases>},
      {"wrong_buffer_dim", compared<LayoutFacts, &LayoutFacts::ofDimension>},
      {"balance_cuts_documents", compared<LayoutFacts, &LayoutFacts::ofDocuments>},
      {"uneven_shards", compared<LayoutFacts, &LayoutFacts::ofRest>},
      {"cp_not_applied", compared<LayoutFacts, &LayoutFacts::ofWhole>},
      {"heads_not_divisible", compared<LayoutFacts, &LayoutFacts::ofHeads>},
  };
  return kSentences;
}

}  // namespace ringscope::facts
