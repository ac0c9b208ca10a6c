// SPDX-License-Identifier: Apache-2.0
// Training and attend reach every seam, and each call knows its place.
#include "engine/mistakes/seams.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <sstream>

#include "engine/attend/attend.h"
#include "engine/rank/run_switches.h"
#include "engine/train/training_run.h"
#include "tests/engine/seam_log.h"
#include "tests/support/files.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::engine {
namespace {

using traces::Direction;
using Steps = std::set<std::pair<RingStep, GroupRank>>;  // ring step and source of the block

TrainOutcome train(const test::SeamLog& log, TrainConfig config) {
  config.text = {ringscope::test::sampleText()};
  config.seq_len = 64;
  RunSwitches switches(log.seams());
  TrainHooks hooks;
  hooks.switches = &switches;
  Gate gate(config.mesh().worldSize());
  return runTraining(config, gate, nullptr, hooks);
}

/// Calls by world rank, training step, layer and direction.
using Key = std::tuple<WorldRank, int, Layer, Direction>;
std::map<Key, std::vector<SeamPlace>> byLayer(const std::vector<SeamPlace>& calls) {
  std::map<Key, std::vector<SeamPlace>> groups;
  for (const SeamPlace& at : calls)
    groups[{at.worldRank(), at.place.train_step, at.place.layer, at.place.direction}].push_back(at);
  return groups;
}

Steps stepsOf(const std::vector<SeamPlace>& calls) {
  Steps steps;
  for (const SeamPlace& at : calls) steps.insert({at.place.stage, at.source_rank});
  return steps;
}

/// Returns the blocks that a rank of a ring of `size` uses, its own first.
Steps ringSteps(GroupRank rank, int size) {
  Steps steps;
  for (int step = 0; step < size; ++step)
    steps.insert({RingStep::of(step), roundRing(rank, -step, size)});
  return steps;
}

TEST(SeamsTest, ATrainingStepReachesEachSeamOfAStepOncePerRank) {
  test::SeamLog log;
  TrainConfig config;
  config.cp = 2;
  config.dp = 2;
  config.batch = 2;
  config.steps = 2;
  train(log, config);
  for (const char* name : {"data.batch", "buffers.cuts", "buffers.sharded", "model.rotary",
                           "model.embedded", "loss.reduce", "loss.logged", "gradients.local",
                           "gradients.reduce", "gradients.norm", "gradients.clip"}) {
    std::multiset<std::pair<WorldRank, int>> rank_and_step, expected;
    for (const SeamPlace& at : log.calls(name)) {
      rank_and_step.insert({at.worldRank(), at.place.train_step});
      EXPECT_EQ(at.mesh, config.mesh()) << name;
    }
    for (const WorldRank rank : config.mesh().ranks()) expected.insert({{rank, 0}, {rank, 1}});
    EXPECT_EQ(rank_and_step, expected) << name;
  }
  EXPECT_EQ(log.calls("buffers.cut").size(), 3u * 4 * 2) << "input_ids, labels, position_ids";
  EXPECT_EQ(log.calls("buffers.layout").size(), 1u);
  EXPECT_EQ(log.calls("ring.group").size(), 4u) << "one strategy a rank, for all steps";
  EXPECT_FALSE(log.calls("checks.refusal").empty());
}

TEST(SeamsTest, ARingReachesTheAttentionSeamsAtEveryPlace) {
  test::SeamLog log;
  TrainConfig config;
  config.cp = 4;
  config.steps = 1;
  const int layers = static_cast<int>(train(log, config).model.num_hidden_layers);
  ASSERT_GT(layers, 1);
  const auto blocks = byLayer(log.calls("attention.block")),
             running = byLayer(log.calls("attention.running")),
             merges = byLayer(log.calls("attention.merge")),
             backward = byLayer(log.calls("attention.backward")),
             dropout = byLayer(log.calls("attention.dropout")), kv = byLayer(log.calls("ring.kv")),
             dkv = byLayer(log.calls("ring.dkv")),
             schedules = byLayer(log.calls("attention.schedule"));
  for (const WorldRank rank : config.mesh().ranks())
    for (Layer layer = Layer::of(0); layer.value() < layers; layer = layer.next()) {
      const Key forward{rank, 0, layer, Direction::kForward},
          back{rank, 0, layer, Direction::kBackward};
      const Steps all = ringSteps(config.mesh().placeFor(rank).cp, config.cp);
      EXPECT_EQ(stepsOf(blocks.at(forward)), all);
      EXPECT_EQ(running.at(forward).size(), blocks.at(forward).size());
      EXPECT_FALSE(merges.at(forward).empty());
      EXPECT_EQ(stepsOf(backward.at(back)), all);
      EXPECT_EQ(backward.at(back).size(), all.size());
      EXPECT_EQ(stepsOf(dropout.at(forward)), all);
      EXPECT_EQ(stepsOf(dropout.at(back)), all);
      for (const Key& key : {forward, back}) {
        ASSERT_EQ(schedules.at(key).size(), 1u);
        EXPECT_TRUE(schedules.at(key).front().place.stage.isNone());
        EXPECT_EQ(kv.at(key).size(), 1u);
      }
      EXPECT_EQ(dkv.at(back).size(), 1u);
      EXPECT_FALSE(dkv.contains(forward));
      EXPECT_FALSE(backward.contains(forward));
      EXPECT_FALSE(blocks.contains(back));
    }
}

TEST(SeamsTest, RecomputationAndHeadsAreReachedWhereARunHasThem) {
  test::SeamLog log;
  TrainConfig config;
  config.cp = 2;
  config.steps = 1;
  config.recompute = true;
  config.strategy = traces::Strategy::kUlysses;
  const auto layers = static_cast<std::size_t>(train(log, config).model.num_hidden_layers);
  const auto recomputed = log.calls("model.recomputed");
  EXPECT_EQ(recomputed.size(), 2 * layers);
  for (const SeamPlace& at : recomputed) EXPECT_EQ(at.place.direction, Direction::kBackward);
  EXPECT_EQ(byLayer(log.calls("attention.heads")).size(), 2 * layers * 2);
}

TEST(SeamsTest, EachRankOfUlyssesTakesItsSinks) {
  test::SeamLog log;
  TrainConfig config;
  config.cp = 2;
  config.steps = 1;
  config.strategy = traces::Strategy::kUlysses;
  config.sinks = true;
  const auto layers = static_cast<std::size_t>(train(log, config).model.num_hidden_layers);
  EXPECT_EQ(log.calls("attention.first_sink").size(), 2 * layers);
  EXPECT_EQ(log.calls("attention.sinks").size(), 2 * layers);
}

class AttendSeamsTest : public testing::TestWithParam<const char*> {};

TEST_P(AttendSeamsTest, AttendReachesTheSameSeams) {
  test::SeamLog log;
  AttendInput input{at::randn({1, 4, 64, 8}), at::randn({1, 4, 64, 8}), at::randn({1, 4, 64, 8}),
                    at::randn({1, 4, 64, 8})};
  input.scale = 0.3;
  AttendConfig config;
  config.strategy = traces::parse<traces::Strategy>(GetParam());
  config.seams = log.seams();
  Gate gate(config.cp);
  attend(input, config, gate);
  std::set<std::string> expected = {
      "attention.layout",  "attention.backward", "attention.block",  "attention.dropout",
      "attention.running", "attention.schedule", "buffers.cut",      "buffers.cuts",
      "buffers.joined",    "buffers.layout",     "buffers.padding",  "checks.refusal",
      "attention.sinks",   "attention.stage",    "attention.scores", "ring.group"};
  const std::string strategy = GetParam();
  if (strategy != "all_gather") expected.insert({"ring.kv", "ring.dkv"});
  if (strategy == "ulysses" || strategy == "hybrid") expected.insert("attention.heads");
  // One rank of ulysses attends the whole sequence in one piece.
  if (strategy != "ulysses") expected.insert("attention.merge");
  EXPECT_EQ(log.reached(), expected);
  std::set<WorldRank> ranks;
  for (const SeamPlace& at : log.calls("attention.block")) {
    ranks.insert(at.worldRank());
    EXPECT_EQ(at.place.layer, Layer::of(0));
    EXPECT_TRUE(at.source_rank.exists());
    EXPECT_LT(at.source_rank.value(), config.cp);
  }
  EXPECT_EQ(ranks.size(), 4u);
  EXPECT_EQ(log.calls("buffers.cut").size(), 4u * 4) << "q, k, v and dout of each rank";
}

INSTANTIATE_TEST_SUITE_P(Matrix, AttendSeamsTest,
                         testing::Values("ring", "all_gather", "ulysses", "hybrid"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(SeamsTest, EveryInjectableMistakeHasItsSeams) {
  const test::SeamLog log;
  std::set<std::string> used;
  for (const auto& mistake : traces::mistakeCatalogue()) {
    EXPECT_EQ(!mistake.seams.empty(), mistake.injectable) << mistake.id;
    EXPECT_EQ(!mistake.made_by.empty(), mistake.injectable) << mistake.id;
    for (const std::string& seam : mistake.seams) {
      EXPECT_TRUE(log.names().contains(seam)) << mistake.id << " names " << seam;
      used.insert(seam);
    }
  }
  EXPECT_EQ(used, log.names()) << "a seam that no mistake needs is not worth its place";
}

}  // namespace
}  // namespace ringscope::engine
