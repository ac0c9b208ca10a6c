// SPDX-License-Identifier: Apache-2.0
// The sentences of findings about what attention computed of its blocks, forward and backward.
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "tests/facts/finding_facts.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::TensorKind;
using traces::TensorRecord;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The range of the lse over the keys that were attended so far.
struct Extent {
  double smallest = kInfinity, largest = -kInfinity;
  bool has_rows_without_keys = false;

  void add(const PlanOracle& oracle, const Numbers& n, int first_head, int heads,
           const std::vector<int>& queries, const std::vector<int>& keys) {
    for (int b = 0; b < n.batch; ++b)
      for (int h = first_head; h < first_head + heads; ++h)
        for (const int q : queries) {
          const Attended row = attend(oracle, n, b, h, q, keys);
          has_rows_without_keys = has_rows_without_keys || !row.any();
          if (!row.any()) continue;
          smallest = std::min(smallest, row.lse);
          largest = std::max(largest, row.lse);
        }
  }
};

class AttentionFacts : FindingFacts {
 public:
  using FindingFacts::FindingFacts;

  void ofBase() const {
    ASSERT_TRUE(
        says("Over ([\\d,]+) rows? block_lse is log Σ exp\\(q·k / √d\\) divided by ln 2, within "
             "(\\S+); from the natural logarithm it is off by (\\S+)\\. The first is (\\S+) where "
             "q and k give (\\S+)\\."));
    EXPECT_GE(number(1), 1);
    EXPECT_LT(real(2), real(3));
    EXPECT_NEAR(real(4) * std::numbers::ln2, real(5), 0.02 * (1 + std::abs(real(5))));
    const auto numbers = givenNumbers();
    if (!numbers || !c_.numbers_are_exact) return;
    bool there = false;
    eachPiece(
        [&](const Event& event, const std::vector<int>& queries, const std::vector<int>& keys) {
          if (event.source_rank != f_.rank) return;
          for (const int q : queries)
            there = there || std::abs(attend(oracle_, *numbers, 0, firstHead(), q, keys).lse -
                                      real(5)) <= c_.tolerance + 1e-3 * std::abs(real(5));
        });
    EXPECT_TRUE(there) << "no row of the rank's own block has it";
  }

  void ofHeads() const {
    ASSERT_TRUE(
        says("Over ([\\d,]+) rows? the lse of query head (\\d+) is that of the keys of KV head "
             "(\\d+) within (\\S+); from that of KV head (\\d+), whose group it is in, it is off "
             "by (\\S+)\\. So it is with (\\d+) of (\\d+) query heads\\."));
    const int heads = oracle_.headsEach() * oracle_.plan().ulysses;
    const auto head = static_cast<int>(number(2));
    std::int64_t wrong = 0;
    for (int h = 0; h < heads; ++h) wrong += groupFor(h) != usedGroup(h);
    EXPECT_GE(number(1), 1);
    EXPECT_LE(number(1), oracle_.plan().length);
    EXPECT_EQ(number(3), usedGroup(head));
    EXPECT_LT(real(4), real(6));
    EXPECT_EQ(number(5), groupFor(head));
    for (int h = 0; h < head; ++h) EXPECT_EQ(groupFor(h), usedGroup(h)) << h << " is wrong already";
    EXPECT_EQ(number(7), wrong);
    EXPECT_EQ(number(8), heads);
    EXPECT_EQ(f_.place.layer.value(), 0);
    EXPECT_EQ(step_, 0);
  }

  void ofMissingPart() const {
    static const std::map<std::string, std::string> kLacks = {
        {"sinks_dropped", "attention without sinks; the layer has \\d+ recorded sinks"},
        {"sinks_on_every_block",
         "the layer's sinks added once for each (?:rank whose keys|chunk of keys that) a row "
         "attends|"
         "the layer's sinks added once for each of \\d+ ranks"},
        {"sinks_not_cut_by_heads",
         "the first \\d+ sinks? of the layer on each of \\d+ ranks that share the heads, "
         "whichever heads the rank has"},
        {"neutral_element_wrong",
         "attention in which each rank without a key for a row counts as a block whose "
         "log-sum-exp is 0"}};
    ASSERT_TRUE(says(
        "^Computed again in fp64, the recorded output agrees with (?:" + kLacks.at(c_.mistake) +
        ")\\. With what is stated, out is off by up to (\\S+|\\S+ [kMG])× what rounding "
        "explains\\. (\\d+) of (\\d+) computed layers? lack it\\."));
    EXPECT_GE(number(2), 1);
    EXPECT_LE(number(2), number(3));
    EXPECT_EQ(step_, 0);
  }

  void ofOverflow() const {
    ASSERT_TRUE(
        says("(?:running_lse is|out is(?= NaN, though every block_out)) (NaN|\\+inf|−inf in a row "
             "that has keys), though (?:every block_out is finite, and )?every block_lse up "
             "to there is (−inf, for rows without a key, or )?from (\\S+) to (\\S+): (?:exp of a "
             "(float|double) is infinite above (\\d+) and 0 below −(\\d+)|log\\(exp\\(lse\\) \\+ "
             "exp\\(block_lse\\)\\) is −inf where both are, and the weights 0 / 0)\\."));
    const bool of_out = f_.buffer == "out";
    EXPECT_TRUE(of_out || f_.buffer == "running_lse");
    if (of_out) {
      EXPECT_TRUE(words_[2].matched && !words_[5].matched);
      return;
    }
    if (words_[5].matched) {
      const bool is_double = oracle_.plan().sum_bytes == 8;
      EXPECT_EQ(words_[5], is_double ? "double" : "float");
      EXPECT_EQ(number(6), is_double ? 709 : 88);
      EXPECT_EQ(number(7), is_double ? 745 : 103);
    }
    const auto numbers = givenNumbers();
    if (!numbers || !c_.numbers_are_exact) return;
    bool there = false;
    Extent extent;
    eachPiece(
        [&](const Event& event, const std::vector<int>& queries, const std::vector<int>& keys) {
          if (event.place.stage > f_.place.stage) return;
          extent.add(oracle_, *numbers, firstHead(), oracle_.headsEach(), queries, keys);
          there = there || (event.place.stage == f_.place.stage && isSaid(extent));
        });
    EXPECT_TRUE(there) << "no running result has merged blocks from " << extent.smallest << " to "
                       << extent.largest;
  }

  void ofPrecision() const {
    ASSERT_TRUE(
        says("Every value of running_lse after (\\d+) blocks? of this layer is one that bfloat16 "
             "has, though the type is (\\S+): it was rounded to bfloat16 between merges\\."));
    int blocks = 0;  // from the first on that it attends any of
    for (int step = 0; step < oracle_.ringSteps(); ++step)
      for (const int source : oracle_.sources(rank_, step, false))
        blocks += blocks > 0 || oracle_.pairs(rank_, source) > 0;
    EXPECT_EQ(number(1), blocks);
    EXPECT_EQ(words_[2], oracle_.plan().sum_bytes == 8 ? "float64" : "float32");
    EXPECT_EQ(f_.place.layer.value(), 0);
    EXPECT_EQ(step_, 0);
  }

  void ofDelta() const {
    ASSERT_TRUE(
        says("The recorded dq differs from that of the merged lse and delta by (\\S+), and from "
             "the sum of what each block gives by itself by (\\S+), where that of the merged sums "
             "has the size (\\S+)\\. The worst row is that of token ([\\d,]+)\\."));
    EXPECT_GT(real(1), 3.9 * real(2));
    EXPECT_GT(real(3), 0);
    EXPECT_EQ(oracle_.findOwner(static_cast<int>(number(4))), rank_);
    EXPECT_EQ(f_.place.direction, traces::Direction::kBackward);
    EXPECT_EQ(f_.buffer, "dq");
  }

  void ofRecomputation() const {
    const double worst_of_bfloat16 = std::ldexp(1.0, -8);
    EXPECT_EQ(f_.place.direction, traces::Direction::kBackward);
    EXPECT_EQ(step_, 0);
    if (says("The q, k and v that backward works with do not give the lse and out of forward "
             "\\(([\\d,.e+]+)(?: k| M)?× what rounding explains\\), and every one of their values "
             "is "
             "one that "
             "bfloat16 has, though their type is wider\\.")) {
      EXPECT_NE(words_[1], "0.0");
      EXPECT_EQ(f_.buffer, "q");
      return;
    }
    ASSERT_TRUE(
        says("The k and v that backward works with differ from the KV block that rank (\\d+) had "
             "in forward by (\\S+) of its largest value, where rounding explains (\\S+)\\."));
    EXPECT_EQ(number(1), f_.rank.value());
    EXPECT_LE(real(2), worst_of_bfloat16);
    EXPECT_GT(real(2), real(3));
    const int digits = oracle_.plan().element_bytes == 8 ? 53 : 24;
    EXPECT_NEAR(real(3), std::ldexp(64, -digits), 0.1 * real(3));
    EXPECT_EQ(f_.buffer, "kv");
  }

  void ofDropout() const {
    ASSERT_TRUE(
        says("Of rows with at most (\\d+) keys it can be told which weights were dropped: out "
             "follows from one choice and dq from one\\. They are not the same in (\\d+) of (\\d+) "
             "rows\\."));
    int rows = 0;
    for (int q = 0; q < oracle_.plan().length; ++q) {
      int keys = 0;
      for (int k = 0; k < oracle_.plan().length; ++k) keys += oracle_.allowed(q, k);
      rows += keys > 0 && keys <= number(1);
    }
    EXPECT_GE(number(2), 2);
    EXPECT_LE(number(2), number(3));
    EXPECT_LE(number(3), rows * oracle_.plan().batch * oracle_.plan().heads);
    EXPECT_EQ(f_.place.direction, traces::Direction::kBackward);
    EXPECT_EQ(f_.buffer, "dq");
  }

 private:
  std::optional<Numbers> givenNumbers() const {
    return c_.numbers(step_, f_.place.layer.value(), group_);
  }
  /// The last pieces that were merged may be any of the ring step's.
  bool isSaid(const Extent& extent) const {
    const double room = 0.02 + 0.02 * std::max(std::abs(extent.smallest), std::abs(extent.largest));
    return words_[2].matched == extent.has_rows_without_keys &&
           std::abs(real(3) - extent.smallest) <= room &&
           std::abs(real(4) - extent.largest) <= room;
  }
  int firstHead() const { return oracle_.firstHead(rank_); }

  /// Calls `take` for each piece that the finding's rank attends in the finding's pass, in the
  /// order of time.
  template <typename Take>
  void eachPiece(const Take& take) const {
    for (const Event& event : c_.trace->events(f_.rank)) {
      traces::Place pass = event.place, here = f_.place;
      pass.stage = here.stage = traces::RingStep::none();
      if (event.kind != traces::EventKind::kAttend || pass != here) continue;
      take(event, part(rank_, event.q_begin, event.q_end),
           part(event.source_rank.value() % c_.cp, event.k_begin, event.k_end));
    }
  }
  std::vector<int> part(int rank, int begin, int end) const {
    const auto all = oracle_.attended(rank);
    return {all.begin() + begin, all.begin() + end};
  }

  /// The KV head of a query head, and the one that it has where each rank has the KV heads of the
  /// next one's query heads.
  int groupFor(int head) const {
    return head * oracle_.kvHeadsOfRank() / (oracle_.headsEach() * oracle_.plan().ulysses);
  }
  int usedGroup(int head) const {
    const int each = oracle_.headsEach(), share = each / oracle_.kvHeadsEach();
    const int next = (head / each + 1) % oracle_.plan().ulysses;
    return groupFor(next * each + head % each / share * share);
  }
};

}  // namespace

const Sentences& attentionSentences() {
  static const Sentences kSentences = {
      {"lse_base2", compared<AttentionFacts, &AttentionFacts::ofBase>},
      {"gqa_group_broken", compared<AttentionFacts, &AttentionFacts::ofHeads>},
      {"sinks_dropped", compared<AttentionFacts, &AttentionFacts::ofMissingPart>},
      {"sinks_on_every_block", compared<AttentionFacts, &AttentionFacts::ofMissingPart>},
      {"sinks_not_cut_by_heads", compared<AttentionFacts, &AttentionFacts::ofMissingPart>},
      {"neutral_element_wrong", compared<AttentionFacts, &AttentionFacts::ofMissingPart>},
      {"lse_overflow", compared<AttentionFacts, &AttentionFacts::ofOverflow>},
      {"lse_low_precision", compared<AttentionFacts, &AttentionFacts::ofPrecision>},
      {"local_delta_in_backward", compared<AttentionFacts, &AttentionFacts::ofDelta>},
      {"recompute_differs", compared<AttentionFacts, &AttentionFacts::ofRecomputation>},
      {"dropout_rng_reused", compared<AttentionFacts, &AttentionFacts::ofDropout>},
  };
  return kSentences;
}

}  // namespace ringscope::facts
