// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "tests/facts/scene_facts.h"
#include "viz/views/merge/merge_scene.h"

namespace ringscope::facts {
namespace {

double added(double a, double b) {
  if (std::isinf(a)) return b;
  return std::isinf(b) ? a : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

/// One output row, and what the plan says of how it came together.
class MergeFacts {
 public:
  MergeFacts(const Case& c, const Look& look, int head, int row)
      : c_(c),
        look_(look),
        oracle_(c.oracle(look.step, look.group)),
        head_(head),
        token_(oracle_.own(look.rank)[static_cast<std::size_t>(row)]),
        attending_(
            oracle_.sharers(look.rank)[static_cast<std::size_t>(head / oracle_.headsEach())]),
        scene_(viz::makeMergeScene(*c.trace, look.cursor(c), {head, row})) {}

  void expect() const {
    EXPECT_EQ(scene_.ring_steps, oracle_.ringSteps());
    EXPECT_EQ(scene_.now.value(), look_.backward ? -1 : look_.ring_step);
    const bool kept = c_.capture == "full" || (c_.values && look_.step == 0);
    const auto& history = scene_.history;
    ASSERT_EQ(history.missing.empty(), kept) << history.missing;
    if (!kept) {
      EXPECT_NE(history.missing.find("values:steps=" + std::to_string(look_.step)),
                std::string::npos);
      return;
    }
    EXPECT_EQ(scene_.token.value(), token_);
    EXPECT_EQ(history.attending.value(), c_.worldRankFor(look_.group, attending_));
    expectSteps();
  }

 private:
  void expectSteps() const {
    const auto& steps = scene_.history.steps;
    ASSERT_EQ(std::ssize(steps), oracle_.ringSize());
    const auto numbers = c_.numbers(look_.step, look_.layer, look_.group);
    const bool exact = numbers && c_.numbers_are_exact && c_.mistake != "nan_from_one_rank";
    double running = -std::numeric_limits<double>::infinity(), naive = 0, merged = 0;
    std::size_t at = 0;
    for (int step = 0; step < oracle_.ringSteps(); ++step)
      for (const int source : oracle_.sources(attending_, step, false)) {
        const viz::MergeStep& says = steps[at++];
        EXPECT_EQ(says.ring_step.value(), step);
        EXPECT_EQ(says.source_rank.value(), c_.worldRankFor(look_.group, source));
        expectWords(says, source);
        if (!exact) continue;
        const Attended block =
            attend(oracle_, *numbers, 0, head_, token_, oracle_.attended(source));
        running = added(running, block.lse);
        if (!block.any()) continue;
        EXPECT_NEAR(says.block_lse, block.lse, c_.tolerance);
        EXPECT_NEAR(says.running_lse, running, c_.tolerance);
        naive += block.out;
        merged += std::exp(block.lse - finalLse(*numbers)) * block.out;
        EXPECT_NEAR(says.weight, std::exp(block.lse - finalLse(*numbers)), 3 * c_.tolerance);
      }
    if (exact && !std::isinf(running)) expectResult(finalLse(*numbers), merged, naive);
  }

  /// With the sink of its head, which is a key without a value.
  double finalLse(const Numbers& n) const {
    std::vector<int> all(static_cast<std::size_t>(oracle_.plan().length));
    std::iota(all.begin(), all.end(), 0);
    const double lse = attend(oracle_, n, 0, head_, token_, all).lse;
    return n.sinks.empty() ? lse : added(lse, n.sinks[static_cast<std::size_t>(head_)]);
  }

  void expectResult(double lse, double merged, double) const {
    const auto& history = scene_.history;
    EXPECT_NEAR(history.lse, lse, c_.tolerance);
    if (!c_.out_is_plain) return;
    EXPECT_NEAR(history.merged, merged, 5 * c_.tolerance);
    EXPECT_NEAR(history.out, merged, 5 * c_.tolerance);
    EXPECT_LE(history.largest_error_merged, history.rounding);
  }

  void expectWords(const viz::MergeStep& says, int source) const {
    bool any = false;
    for (const int key : oracle_.attended(source)) any = any || oracle_.allowed(token_, key);
    EXPECT_EQ(says.attended, any);
    if (any) {
      EXPECT_EQ(says.words, "");
    } else if (oracle_.pairs(attending_, source) > 0) {
      EXPECT_EQ(says.words, "no key of it is for this row");
    } else {
      EXPECT_NE(says.words.find(briefWords(oracle_.reason(attending_, source))), std::string::npos)
          << says.words;
    }
  }

  const Case& c_;
  const Look& look_;
  const PlanOracle& oracle_;
  int head_, token_, attending_;
  viz::MergeScene scene_;
};

}  // namespace

void expectMerge(const Case& c, const Look& look, std::mt19937& random) {
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  const auto heads = static_cast<unsigned>(oracle.plan().heads / c.tp);
  const auto rows = static_cast<unsigned>(oracle.own(look.rank).size());
  const int head = static_cast<int>(random() % heads), row = static_cast<int>(random() % rows);
  SCOPED_TRACE("merge of head " + std::to_string(head) + ", row " + std::to_string(row));
  MergeFacts(c, look, head, row).expect();
}

}  // namespace ringscope::facts
