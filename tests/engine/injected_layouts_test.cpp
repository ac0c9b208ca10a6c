// SPDX-License-Identifier: Apache-2.0
// Mistakes in dealing heads, documents and buffers: what each changes, where it is rejected, and
// that the doctor names it first and alone.
#include "tests/engine/injected_harness.h"

namespace ringscope::engine {
namespace {

// -------- balance_cuts_documents

TrainConfig documents(int cp) {
  TrainConfig config = training(cp);
  config.seq_len = 512;
  config.mask = traces::MaskKind::kDocuments;
  config.separator = "\n\n";
  config.balance = Balance::kPerDocument;
  return config;
}

TEST(BalanceCutsDocumentsTest, TheNumbersAreRightAndTheWorkIsUneven) {
  const TrainConfig config = documents(4);
  EXPECT_NEAR(train(config, "balance_cuts_documents").steps.front().loss,
              train(config, "").steps.front().loss, 1e-5);
  Attention a = attention(2);
  a.in.mask = Mask::packed({0, 8, 72}, 72);
  a.config.balance = Balance::kPerDocument;
  const auto right = attendWith(a, ""), wrong = attendWith(a, "balance_cuts_documents");
  EXPECT_TRUE(sameTensors(right, wrong));
  EXPECT_EQ(right.work[0], right.work[1]);
  EXPECT_NE(wrong.work[0], wrong.work[1]);
  expectNamed("balance_cuts_documents", config);
  expectNamed("balance_cuts_documents", a);
}

TEST(BalanceCutsDocumentsTest, IsRefusedWhereNoDocumentsAreDealt) {
  TrainConfig config = documents(4);
  config.balance = Balance::kHeadTail;
  expectRefused(config, "balance_cuts_documents", "changes nothing where no documents are dealt");
}

// -------- heads_not_divisible

TEST(HeadsNotDivisibleTest, NoRankAttendsTheLastHead) {
  TrainConfig config = training(3);
  config.strategy = traces::Strategy::kUlysses;
  expectRefused(config, "", "do not divide among 3 Ulysses ranks");
  const auto outcome = train(config, "heads_not_divisible");
  const at::Tensor& gradient = outcome.gradients.at("model.layers.0.self_attn.q_proj.weight");
  EXPECT_GT(gradient.slice(0, 64, 96).abs().max().item<double>(), 0);
  EXPECT_EQ(gradient.slice(0, 96, 128).abs().max().item<double>(), 0);
  expectNamed("heads_not_divisible", config);
}

TEST(HeadsNotDivisibleTest, OneAttentionHasZerosThere) {
  Attention a = attention(3);
  a.config.strategy = traces::Strategy::kUlysses;
  const auto outcome = attendWith(a, "heads_not_divisible");
  EXPECT_EQ(outcome.tensors.at("out").select(1, 3).abs().max().item<double>(), 0);
  EXPECT_GT(outcome.tensors.at("out").select(1, 2).abs().max().item<double>(), 0);
  expectNamed("heads_not_divisible", a);
}

TEST(HeadsNotDivisibleTest, IsRefusedWhereHeadsDivideOrARankWouldHaveNone) {
  TrainConfig config = training(4);
  config.strategy = traces::Strategy::kUlysses;
  expectRefused(config, "heads_not_divisible", "changes nothing here: the query heads divide");
  config.cp = 6;
  expectRefused(config, "heads_not_divisible", "do not divide among 6 Ulysses ranks");
  config.cp = 3;
  config.seq_len = 71;
  expectRefused(config, "heads_not_divisible", "a length of 71");
}

// -------- cp_not_applied

TEST(CpNotAppliedTest, EachRankDoesAllAndSendsNothing) {
  const TrainConfig config = training(3);
  const auto right = train(config, ""), wrong = train(config, "cp_not_applied");
  EXPECT_NEAR(wrong.steps.front().loss, right.steps.front().loss, 1e-5);
  EXPECT_NEAR(wrong.steps.front().grad_norm, right.steps.front().grad_norm, 1e-4);
  EXPECT_TRUE(same(wrong.logits, right.logits));
  EXPECT_EQ(wrong.steps.front().targets, 3 * right.steps.front().targets);
  expectNamed("cp_not_applied", config);
  expectNamed("cp_not_applied", documents(2));
}

TEST(CpNotAppliedTest, OneAttentionIsRightUnderEveryStrategyAndOnEveryRank) {
  for (const auto strategy : {traces::Strategy::kRing, traces::Strategy::kAllGather,
                              traces::Strategy::kUlysses, traces::Strategy::kHybrid}) {
    Attention a = attention(4);
    a.config.strategy = strategy;
    const auto right = attendWith(a, ""), wrong = attendWith(a, "cp_not_applied");
    EXPECT_TRUE(sameTensors(right, wrong));
    for (const HopTotals& hops : wrong.hops) EXPECT_EQ(hops.bytes_forward, 0);
    EXPECT_GE(wrong.work[0], right.work[0]);
    expectNamed("cp_not_applied", a);
  }
}

TEST(CpNotAppliedTest, IsRefusedOnOneRankAndWhereShardsArePutTogether) {
  expectRefused(training(1), "cp_not_applied", "changes nothing on one rank");
  TrainConfig config = training(2);
  config.verify = true;
  expectRefused(config, "cp_not_applied", "--verify puts shards together");
}

// -------- wrong_buffer_dim

TEST(WrongBufferDimTest, EachRankHasSomeOfTheSequences) {
  TrainConfig config = training(2);
  config.batch = 4;
  const auto right = train(config, ""), wrong = train(config, "wrong_buffer_dim");
  EXPECT_FALSE(same(wrong.logits, right.logits));
  EXPECT_EQ(wrong.steps.front().targets, right.steps.front().targets);
  expectNamed("wrong_buffer_dim", config);
  config.strategy = traces::Strategy::kAllGather;
  expectNamed("wrong_buffer_dim", config);
}

TEST(WrongBufferDimTest, IsRefusedWhereItWouldEndAtOnce) {
  TrainConfig config = training(2);
  expectRefused(config, "wrong_buffer_dim", "a --batch of dp × cp sequences");
  config.batch = 2;
  config.strategy = traces::Strategy::kUlysses;
  expectRefused(config, "wrong_buffer_dim", "use --strategy ring or all_gather");
}

// -------- uneven_shards

TEST(UnevenShardsTest, TheLastTokensAreLost) {
  TrainConfig config = training(2);
  config.seq_len = 71;
  expectRefused(config, "", "a length of 71 does not divide");
  EXPECT_EQ(train(config, "uneven_shards").steps.front().targets, 68);
  expectNamed("uneven_shards", config);
  const Attention a = attention(2, 71);
  EXPECT_ERROR(attendWith(a, ""), ErrorCode::kUsage, "or pad it with --pad");
  EXPECT_EQ(attendWith(a, "uneven_shards").tensors.at("out").size(2), 68);
  expectNamed("uneven_shards", a);
}

TEST(UnevenShardsTest, IsRefusedWhereNothingIsLost) {
  expectRefused(training(2), "uneven_shards", "changes nothing here: the length divides");
  Attention a = attention(2, 71);
  a.config.pad = true;
  EXPECT_ERROR(attendWith(a, "uneven_shards"), ErrorCode::kUsage, "and no --pad");
}

}  // namespace
}  // namespace ringscope::engine
