// SPDX-License-Identifier: Apache-2.0
// Mistakes in combining rows, keys, blocks and positions: what each changes, where it is rejected,
// and that the doctor names it first and alone.
#include "tests/engine/injected_harness.h"
#include "traces/format/trace/ending.h"

namespace ringscope::engine {
namespace {

// -------- padding_unmasked

TEST(PaddingUnmaskedTest, ChangesWhatEveryQueryOfAFullMaskSees) {
  Attention a = attention(4, 61);
  a.config.pad = true;
  a.in.mask = Mask::full();
  EXPECT_FALSE(sameTensors(attendWith(a, ""), attendWith(a, "padding_unmasked")));
  expectNamed("padding_unmasked", a);
  a.in.mask = Mask::causalMask();
  EXPECT_TRUE(sameTensors(attendWith(a, ""), attendWith(a, "padding_unmasked")))
      << "padding comes last, where no query sees it";
  expectNamed("padding_unmasked", a);
  expectRefused(training(2), "padding_unmasked", "changes nothing in training");
}

// -------- positions_read_as_documents

TEST(PositionsReadAsDocumentsTest, SomeRanksAttendNothingAcrossTheJumpOfTheirTokens) {
  for (const Balance balance : {Balance::kHeadTail, Balance::kStriped}) {
    TrainConfig config = training(3);
    config.balance = balance;
    EXPECT_FALSE(
        same(train(config, "").logits, train(config, "positions_read_as_documents").logits));
    expectNamed("positions_read_as_documents", config);
    Attention a = attention(4);
    a.config.balance = balance;
    EXPECT_FALSE(sameTensors(attendWith(a, ""), attendWith(a, "positions_read_as_documents")));
    expectNamed("positions_read_as_documents", a);
  }
}

TEST(PositionsReadAsDocumentsTest, IsRefusedWherePositionsDoNotJump) {
  TrainConfig config = training(2);
  config.balance = Balance::kNone;
  expectRefused(config, "positions_read_as_documents", "positions do not jump");
}

// -------- dropped_hop

TEST(DroppedHopTest, TheRunHangsAndItsRecordingSaysWhoLeftOutAHop) {
  for (const auto order : {Order::kDiagonalFirst, Order::kDiagonalLast}) {
    TrainConfig config = training(3);
    config.order = order;
    expectNamed("dropped_hop", 3, [&](traces::Recorder* recorder) {
      std::string reason;
      try {
        train(config, "dropped_hop", recorder);
      } catch (const Error& error) {
        reason = error.what();
      }
      EXPECT_NE(reason, "");
      recorder->note(traces::kEndedNote, traces::endedNote({traces::HowEnded::kFailed, reason}));
    });
  }
}

TEST(DroppedHopTest, IsRefusedWhereBlocksAreGathered) {
  TrainConfig config = training(2);
  config.rotate = Rotate::kAllGather;
  expectRefused(config, "dropped_hop", "changes nothing where no block hops");
}

// -------- wrong_process_group

TEST(WrongProcessGroupTest, BlocksOfAnotherSequenceAreAttended) {
  for (const auto strategy : {traces::Strategy::kRing, traces::Strategy::kAllGather}) {
    TrainConfig config = training(2);
    config.dp = config.batch = 2;
    config.strategy = strategy;
    EXPECT_FALSE(same(train(config, "").logits, train(config, "wrong_process_group").logits));
    expectNamed("wrong_process_group", config);
  }
  expectRefused(training(2), "wrong_process_group", "where --dp equals --cp");
}

// -------- aliased_buffer

TEST(AliasedBufferTest, PositionsAreReorderedOnceForEachSequence) {
  TrainConfig config = training(2);
  config.batch = 2;
  EXPECT_FALSE(same(train(config, "").logits, train(config, "aliased_buffer").logits));
  expectNamed("aliased_buffer", config);
  config.batch = 1;
  expectRefused(config, "aliased_buffer", "a batch of several sequences");
}

}  // namespace
}  // namespace ringscope::engine
