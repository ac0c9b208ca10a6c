// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/balance_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ringscope::traces {
namespace {

const ModelSizes kSmall{"small", 1, 64, 4, 2, 16, 128, 100};

RunSpec documentsOver(std::int32_t cp) {
  RunSpec run;
  run.cp = cp;
  run.mask = MaskKind::kDocuments;
  return run;
}

std::vector<ComparedBalance> compare(const std::vector<std::vector<std::int64_t>>& sequences,
                                     std::int32_t cp) {
  const DeviceSpeed device{"", 1e12, 1e12, 1e12, 1e12};
  Hardware hardware;
  hardware.link.gigabytes_per_second = 10;
  return compareBalances(balanceChoices(16, 16), sequences, documentsOver(cp), kSmall, device,
                         hardware);
}

const ComparedBalance& find(const std::vector<ComparedBalance>& all, const std::string& title) {
  return *std::ranges::find(all, title,
                            [](const ComparedBalance& balance) { return balance.choice.title; });
}

TEST(BalanceComparisonTest, OneDocumentTakesTheTimeOfACausalLayer) {
  const std::vector<ComparedBalance> all = compare({{512}}, 4);
  for (const ComparedBalance& balance : all) {
    if (!balance.choice.balance || balance.choice.title == "per_document") continue;
    RunSpec causal = documentsOver(4);
    causal.mask = MaskKind::kCausal;
    causal.seq_len = 512;
    causal.balance = balance.choice.balance;
    const Prediction step = predict(causal, kSmall, {"", 1e12, 1e12, 1e12, 1e12}, [] {
      Hardware hardware;
      hardware.link.gigabytes_per_second = 10;
      return hardware;
    }());
    const LayerPrediction& ring = balance.layers.front();
    EXPECT_EQ(ring.communication.forward_kv.bytes, step.communication.forward_kv.bytes);
    EXPECT_EQ(ring.communication.attention.bytes, step.communication.attention.bytes);
    EXPECT_GT(ring.layer_ns, 0);
    EXPECT_LT(ring.layer_ns, step.step_ns)
        << "a step also has an embedding, a loss and an optimizer";
  }
}

TEST(BalanceComparisonTest, TheSlowestRankSetsTheTimeOfALayer) {
  const std::vector<ComparedBalance> all = compare({{4096}}, 4);
  EXPECT_EQ(all.back().choice.title, "none");
  EXPECT_NEAR(find(all, "none").imbalance(), 7.0 / 4, 0.001);
  EXPECT_NEAR(find(all, "head_tail").imbalance(), 1, 1e-12);
  const Quickest quickest = quickestBalances(all);
  ASSERT_TRUE(quickest.next);
  EXPECT_EQ(*quickest.next, all.size() - 1) << "only contiguous parts are told apart";
}

TEST(BalanceComparisonTest, SequencesAddUp) {
  const auto once = compare({{300, 77}}, 2), twice = compare({{300, 77}, {300, 77}}, 2);
  for (std::size_t i = 0; i < once.size(); ++i) {
    const ComparedBalance& sum = find(twice, once[i].choice.title);
    EXPECT_EQ(sum.padding, 2 * once[i].padding);
    EXPECT_EQ(sum.pairs.largest, 2 * once[i].pairs.largest);
    EXPECT_EQ(sum.layers.front().layer_ns, 2 * once[i].layers.front().layer_ns);
  }
}

}  // namespace
}  // namespace ringscope::traces
