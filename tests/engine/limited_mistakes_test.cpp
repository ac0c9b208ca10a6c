// SPDX-License-Identifier: Apache-2.0
// Mistakes in only one layer, step or rank: nothing else changes, and the doctor names them like
// those of a whole run.
#include <gtest/gtest.h>

#include <set>

#include "tests/engine/injected_runs.h"
#include "tests/engine/named_in_recording.h"
#include "tests/support/campaign.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/analysis/verify/recompute/loss.h"

namespace ringscope::engine {
namespace {

using test::Injected;

TrainConfig training() {
  TrainConfig config;
  config.model = {"sample", 2, 128, 4, 2, 32, 256};
  config.text = {test::sampleText()};
  config.cp = 2;
  config.seq_len = 32;
  config.steps = 2;
  config.capture = "full";
  return config;
}

/// Returns the training steps and layers in which a tensor of the kind differs between the two
/// recordings.
std::set<std::pair<int, int>> changed(traces::TensorKind kind, const traces::Trace& a,
                                      const traces::Trace& b) {
  std::set<std::pair<int, int>> places;
  for (const traces::TensorRecord& tensor : a.tensors()) {
    if (tensor.tensor.kind != kind) continue;
    const auto* other = b.findTensor(static_cast<const traces::TensorKey&>(tensor));
    if (!other || other->hash != tensor.hash)
      places.emplace(tensor.place.train_step, static_cast<int>(tensor.place.layer.value()));
  }
  return places;
}

TEST(LimitedMistakesTest, AMergeOfOneLayerAndStepIsWrongThereFirst) {
  const RandomRun run{training(), std::nullopt};
  test::TempDir dir;
  const auto right = run.record(dir.file("right.rscope"));
  const auto wrong = run.record(dir.file("wrong.rscope"), "naive_sum_merge:layer=1,step=1");
  EXPECT_EQ(changed(traces::TensorKind::kOut, *right, *wrong),
            (std::set<std::pair<int, int>>{{1, 1}}));
}

TEST(LimitedMistakesTest, OnlyTheNamedRankMakesTheMistake) {
  const RandomRun run{training(), std::nullopt};
  test::TempDir dir;
  const auto right = run.record(dir.file("right.rscope"));
  const auto wrong =
      run.record(dir.file("wrong.rscope"), "lse_low_precision:rank=1,layer=0,step=0");
  for (const traces::TensorRecord& tensor : right->tensors()) {
    if (tensor.tensor.kind != traces::TensorKind::kOut || tensor.place.train_step != 0 ||
        tensor.place.layer != Layer::of(0))
      continue;
    const auto* other = wrong->findTensor(static_cast<const traces::TensorKey&>(tensor));
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->hash != tensor.hash, tensor.rank == WorldRank::of(1));
  }
}

// -------- places drawn at random

TEST(LimitedMistakesTest, TheSeedChoosesThePlaceOfAMistakeOnOneRank) {
  TrainConfig config = training();
  config.cp = 8;
  std::set<std::string> places;
  for (config.seed = 0; config.seed < 32; ++config.seed) {
    places.insert(placed("nan_from_one_rank", config));
    EXPECT_EQ(placed("nan_from_one_rank", config), placed("nan_from_one_rank", config));
    EXPECT_EQ(placed("naive_sum_merge", config), "naive_sum_merge") << "it is made everywhere";
  }
  EXPECT_GT(places.size(), 16u);
}

TEST(LimitedMistakesTest, APlaceThatIsAskedForIsNotDrawn) {
  const TrainConfig config = training();
  const std::string all = "nan_from_one_rank:rank=1,layer=0,step=1";
  EXPECT_EQ(placed(all, config), all);
  const auto one = traces::AskedMistake::parse(placed("nan_from_one_rank:layer=1", config));
  EXPECT_EQ(one.layer, 1);
  EXPECT_TRUE(one.rank && one.step);
}

TEST(LimitedMistakesTest, ANanIsOfOneRankLayerAndStep) {
  const RandomRun run{training(), std::nullopt};
  test::TempDir dir;
  const auto wrong =
      run.record(dir.file("wrong.rscope"), "nan_from_one_rank:rank=1,layer=1,step=1");
  std::set<std::tuple<int, int, int>> places;
  for (const traces::TensorRecord& tensor : wrong->tensors())
    if (tensor.tensor.kind == traces::TensorKind::kBlockOut && tensor.stats.nan > 0)
      places.emplace(tensor.rank.value(), tensor.place.layer.value(), tensor.place.train_step);
  EXPECT_EQ(places, (std::set<std::tuple<int, int, int>>{{1, 1, 1}}));
}

TEST(LimitedMistakesTest, ARankWithoutTargetsHasNoneOnAllOfItsTpRanks) {
  TrainConfig config = training();
  config.tp = 2;
  const RandomRun run{config, std::nullopt};
  test::TempDir dir;
  const auto wrong = run.record(dir.file("wrong.rscope"), "rank_without_targets:rank=3");
  const auto losses = traces::rankLosses(*wrong, 0);
  ASSERT_FALSE(losses.ranks.empty());
  for (const auto& rank : losses.ranks)
    EXPECT_EQ(rank.own.targets == 0, rank.rank.value() % 2 == 1) << toString(rank.rank);
}

TEST(LimitedMistakesTest, ResultsFromNanInputsAreNotCompared) {
  TrainConfig config = training();
  config.tp = 2;
  config.verify = true;
  config.steps = 1;
  const RandomRun run{config, std::nullopt};
  test::TempDir dir;
  const auto wrong = run.record(dir.file("wrong.rscope"), "rank_without_targets:rank=0");
  std::set<std::string> isolated;
  for (const traces::DiffRecord& diff : wrong->diffs())
    if (diff.isolated) isolated.insert(diff.tensor);
  EXPECT_EQ(isolated, (std::set<std::string>{"lse", "out"}))
      << "dout and gradients of that rank are NaN";
}

TEST(LimitedMistakesTest, ABufferAloneIsDealtInAnotherWay) {
  const RandomRun run{training(), std::nullopt};
  test::TempDir dir;
  const auto wrong =
      run.record(dir.file("wrong.rscope"), "balance_differs_between_buffers:buffer=labels");
  const auto findings = traces::diagnose(*wrong).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().rule, "balance_differs_between_buffers");
}

void expectRefused(const std::string& asked, const std::string& because) {
  try {
    Seams seams;
    inject(asked, seams);
    const auto reason = seams.checks.reasonAgainst(training());
    ASSERT_TRUE(reason.has_value()) << asked;
    EXPECT_NE(reason->find(because), std::string::npos) << *reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find(because), std::string::npos) << error.what();
  }
}

TEST(LimitedMistakesTest, APlaceThatTheRunOrTheMistakeLacksIsRefused) {
  expectRefused("naive_sum_merge:layer=2", "no layer 2; the last is 1");
  expectRefused("naive_sum_merge:rank=2", "no rank 2; the last is 1");
  expectRefused("naive_sum_merge:step=2", "no step 2; the last is 1");
  expectRefused("kv_not_rotated:rank=0", "cannot be limited to a rank; it can to: layer, step");
  expectRefused("uneven_shards:step=0", "cannot be limited to a step; it is of the whole run");
  expectRefused("naive_sum_merge:buffer=q", "cannot be limited to a buffer");
  expectRefused("balance_differs_between_buffers:buffer=q",
                "does not cut q; it cuts input_ids, labels, position_ids");
}

/// Returns a random limitation of a mistake: "naive_sum_merge:rank=1,step=0".
std::string limited(const std::string& mistake, const traces::RunSpec& run, std::mt19937& random) {
  std::string asked;
  for (const std::string& place : injectableMistake(mistake).places) {
    if (random() % 2) continue;
    const auto count = place == "rank"    ? run.worldSize()
                       : place == "layer" ? static_cast<std::int32_t>(run.model.layers)
                                          : run.steps;
    asked += (asked.empty() ? ":" : ",") + place + "=" +
             std::to_string(random() % static_cast<unsigned>(count));
  }
  return mistake + asked;
}

RandomRun trainingFor(const Injected& injected, std::mt19937& random) {
  for (;;) {
    RandomRun run = RandomRun::ofTraining(random, 8);
    run.training.steps = 2;
    run.training.capture = "full";
    if (injected.matters(run.spec()) && run.findRefusal(injected.mistake).empty()) return run;
  }
}

TEST(LimitedMistakesCampaignTest, AMistakeOfOnePlaceIsNamedAlone) {
  std::vector<Injected> mistakes = test::kMistakes;
  std::erase_if(mistakes, [](const Injected& injected) {
    return !test::concernsTraining(injected) || injectableMistake(injected.mistake).places.empty();
  });
  for (test::Campaign campaign(static_cast<int>(mistakes.size()), 23); campaign.next();) {
    const Injected& injected = mistakes[campaign.number() % mistakes.size()];
    const RandomRun run = trainingFor(injected, campaign.random());
    std::string asked;
    do asked = limited(injected.mistake, run.spec(), campaign.random());
    while (!run.findRefusal(asked).empty());
    SCOPED_TRACE(campaign.text() + " " + asked + " " + run.text());
    test::TempDir dir;
    const auto right = run.record(dir.file("right.rscope"));
    expectNamedIn(injected.mistake, run, *right, *run.record(dir.file("wrong.rscope"), asked));
  }
}

}  // namespace
}  // namespace ringscope::engine
