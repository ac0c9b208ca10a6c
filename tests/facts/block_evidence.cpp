// SPDX-License-Identifier: Apache-2.0
// The sentences of findings about the blocks that go round: whose they are, who has them, who sends
// them to whom.
#include <cstdio>

#include "tests/facts/finding_facts.h"

namespace ringscope::facts {
namespace {

class BlockFacts : FindingFacts {
 public:
  using FindingFacts::FindingFacts;

  void ofFirstBlock() const {
    ASSERT_TRUE(
        says("At (\\d+) of (\\d+) ring steps? with a block of another rank, rank (\\d+) attends "
             "the one that it began with: where it should have that of rank (\\d+) the hash is "
             "still that of rank (\\d+)'s\\."));
    const auto wrong = stepsWithout(rank_, false);
    ASSERT_FALSE(wrong.empty());
    EXPECT_EQ(number(1), std::ssize(wrong));
    EXPECT_EQ(number(2), oracle_.ringSize() - 1);
    EXPECT_EQ(number(3), f_.rank.value());
    EXPECT_EQ(number(4), world(sourceAt(wrong.front(), false)));
    EXPECT_EQ(number(5), f_.rank.value()) << "its own is the first";
    expectPlace(false, wrong.front());
  }

  void ofOldBlocks() const {
    ASSERT_TRUE(
        says("Forward had the right block at every ring step\\. In backward rank (\\d+) has that "
             "of rank (\\d+) where it takes it for that of rank (\\d+), and (\\d+) wrong ones? in "
             "all\\."));
    const auto wrong = stepsWithout(rank_, true);
    ASSERT_FALSE(wrong.empty());
    EXPECT_EQ(number(1), f_.rank.value());
    EXPECT_EQ(number(2), world(sourceAt(0, true)));
    EXPECT_EQ(number(3), world(sourceAt(wrong.front(), true)));
    EXPECT_EQ(number(4), std::ssize(wrong));
    expectPlace(true, wrong.front());
  }

  void ofReordered() const {
    ASSERT_TRUE(
        says("What rank (\\d+) has as the block of rank (\\d+) has another hash than that one's "
             "own and the same smallest, largest and mean value; so have (\\d+) of the (\\d+) "
             "blocks of other ranks that it holds\\."));
    EXPECT_EQ(number(1), f_.rank.value());
    std::vector<int> wrong;
    for (int step = 1; step < oracle_.ringSteps(); ++step)
      if (hasTokens(sourceAt(step, false))) wrong.push_back(step);
    ASSERT_FALSE(wrong.empty());
    EXPECT_EQ(number(2), world(sourceAt(wrong.front(), false)));
    EXPECT_EQ(number(3), std::ssize(wrong));
    EXPECT_EQ(number(4), oracle_.ringSize() - 1);
    expectPlace(false, wrong.front());
  }

  /// Every rank sends against the direction that its sources are computed for.
  void ofDirection() const {
    ASSERT_TRUE(
        says("Rank (\\d+) sends the (KV|dK and dV) of rank (\\d+)'s block, and rank (\\d+) takes "
             "them for those of rank (\\d+)'s\\."));
    const bool backward = words_[2] != "KV";
    EXPECT_EQ(backward, oracle_.plan().gathers_once) << "hops of KV come first, if there are any";
    const auto members = oracle_.ring(0);
    const bool against = backward && oracle_.plan().own_last;
    const int sender = against ? members.back() : members.at(1);
    EXPECT_EQ(rank_, 0);
    EXPECT_EQ(number(1), world(sender));
    EXPECT_EQ(number(3), world(oracle_.sources(sender, 0, backward).front()));
    EXPECT_EQ(number(4), f_.rank.value());
    EXPECT_EQ(number(5), world(sourceAt(1, backward)));
    EXPECT_EQ(f_.buffer, backward ? "dkv" : "kv");
    expectPlace(backward, 0);
  }

  /// Each sum stays with the rank before its owner.
  void ofSums() const {
    const std::string rest =
        "and no message brings rank (\\d+) their sums\\. So it is with (\\d+) of (\\d+) ranks\\.";
    const auto attender = [this] {
      for (int rank = 0; rank < c_.cp; ++rank)
        if (rank != rank_ && std::ranges::count(oracle_.ring(rank), rank_) > 0 &&
            oracle_.pairs(rank, rank_) > 0)
          return rank;
      return -1;
    }();
    if (attender >= 0) {
      ASSERT_TRUE(says("Rank (\\d+) attends keys of rank (\\d+) in backward, " + rest));
      EXPECT_EQ(number(1), world(attender));
    } else {
      ASSERT_TRUE(
          says("Rank (\\d+) sends the dK and dV of (its) own block away in backward, " + rest));
      EXPECT_EQ(number(1), f_.rank.value());
    }
    if (words_[2] != "its") {
      EXPECT_EQ(number(2), f_.rank.value());
    }
    EXPECT_EQ(number(3), f_.rank.value());
    EXPECT_EQ(rank_, 0);
    EXPECT_EQ(number(4), c_.cp);
    EXPECT_EQ(number(5), c_.cp);
    EXPECT_EQ(f_.place.direction, traces::Direction::kBackward);
    EXPECT_EQ(f_.place.layer.value(), c_.layers - 1);
    EXPECT_EQ(step_, 0);
  }

  /// The dp group is taken for the cp group.
  void ofGroup() const {
    ASSERT_TRUE(
        says("Rank (\\d+) (sends|receives) (\\S+ \\S+) (to|from) rank (\\d+) in the dp group of "
             "ranks ([\\d, ]+), and shares its sequence with ranks ([\\d, ]+) only\\."));
    std::vector<int> of_dp(static_cast<std::size_t>(c_.dp)), of_cp(static_cast<std::size_t>(c_.cp));
    for (int dp = 0; dp < c_.dp; ++dp)
      of_dp[static_cast<std::size_t>(dp)] = c_.worldRankFor(dp * c_.tp, 0);
    for (int rank = 0; rank < c_.cp; ++rank)
      of_cp[static_cast<std::size_t>(rank)] = c_.worldRankFor(0, rank);
    EXPECT_EQ(f_.rank.value(), 0);
    EXPECT_EQ(number(1), 0);
    EXPECT_EQ(words_[2] == "sends", words_[4] == "to");
    EXPECT_GT(std::ranges::count(of_dp, number(5)), 0);
    EXPECT_NE(number(5), 0);
    EXPECT_EQ(words_[6], listed(of_dp));
    EXPECT_EQ(words_[7], listed(of_cp));
    EXPECT_EQ(words_[3], sizeWords(oracle_.hops(0, 0, false).front().bytes));
    EXPECT_EQ(f_.buffer, "kv");
    EXPECT_EQ(step_, 0);
  }

 private:
  int sourceAt(int step, bool backward) const {
    return oracle_.sources(rank_, step, backward).front();
  }

  /// Some keys are not padding.
  bool hasTokens(int source) const {
    if (!c_.given) return true;
    const auto keys = oracle_.attended(source);
    return std::ranges::any_of(keys, [this](int key) {
      return *c_.given->row(c_.given->k, c_.given->kv_heads, 0, 0, key) != 0;
    });
  }
  /// Nothing but padding is in both blocks.
  bool areAlike(int one, int other) const {
    if (one == other) return true;
    if (!c_.given) return false;
    const auto keys = oracle_.attended(one), others = oracle_.attended(other);
    for (const auto* of : {&c_.given->k, &c_.given->v})
      for (int b = 0; b < c_.given->batch; ++b)
        for (int head = 0; head < c_.given->kv_heads; ++head)
          for (std::size_t i = 0; i < keys.size(); ++i) {
            const double *a = c_.given->row(*of, c_.given->kv_heads, b, head, keys[i]),
                         *d = c_.given->row(*of, c_.given->kv_heads, b, head, others[i]);
            if (!std::equal(a, a + c_.given->width, d)) return false;
          }
    return true;
  }
  /// Ring steps at which the first block is not the one that should be there.
  std::vector<int> stepsWithout(int rank, bool backward) const {
    std::vector<int> steps;
    const int held = oracle_.sources(rank, 0, backward).front();
    for (int step = 1; step < oracle_.ringSteps(); ++step)
      if (!areAlike(held, oracle_.sources(rank, step, backward).front())) steps.push_back(step);
    return steps;
  }

  void expectPlace(bool backward, int step) const {
    EXPECT_EQ(step_, 0);
    EXPECT_EQ(f_.place.layer.value(),
              backward && f_.rule != "stale_kv_in_backward" ? c_.layers - 1 : 0);
    EXPECT_EQ(f_.place.direction == traces::Direction::kBackward, backward);
    EXPECT_EQ(f_.place.stage.value(), step);
  }
  static std::string listed(const std::vector<int>& ranks) {
    std::string text;
    for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
    return text;
  }
  static std::string sizeWords(std::int64_t bytes) {
    constexpr double kUnit = 1024;
    if (static_cast<double>(bytes) < kUnit - 0.5) return std::to_string(bytes) + " B";
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / kUnit);
    std::string digits = text;
    if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
    return digits + " KiB";
  }
};

}  // namespace

const Sentences& blockSentences() {
  static const Sentences kSentences = {
      {"kv_not_rotated", compared<BlockFacts, &BlockFacts::ofFirstBlock>},
      {"stale_kv_in_backward", compared<BlockFacts, &BlockFacts::ofOldBlocks>},
      {"non_contiguous_kv", compared<BlockFacts, &BlockFacts::ofReordered>},
      {"wrong_ring_direction", compared<BlockFacts, &BlockFacts::ofDirection>},
      {"dkv_not_returned", compared<BlockFacts, &BlockFacts::ofSums>},
      {"wrong_process_group", compared<BlockFacts, &BlockFacts::ofGroup>},
  };
  return kSentences;
}

}  // namespace ringscope::facts
