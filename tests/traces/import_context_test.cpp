// SPDX-License-Identifier: Apache-2.0
// Lines of a recorded job about PyTorch's context_parallel, and about losses beside its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/called_losses.h"
#include "traces/format/trace/context_facts.h"
#include "traces/format/trace/other_losses.h"

namespace ringscope::traces {
namespace {

using test::kFirstFile;
using test::RecordingCopy;

const std::string kLoss = R"({"line":"loss","step":0,"grad":true,"number":90})"
                          "\n";
const std::string kGradient = R"({"line":"loss_gradient","step":0,"number":90})"
                              "\n";

std::string attention(const std::string& direction) {
  return R"({"line":"attention","step":0,"call":900,"forward_call":900,"direction":")" + direction +
         R"(","ring":{"group":"g","rank":0}})" + "\n";
}
/// Returns the backward of an attention that one rank computes alone.
std::string ownBackward() {
  return R"({"line":"attention","step":0,"call":"plain-9","direction":"backward"})"
         "\n";
}
std::string context(const std::string& active) {
  return R"({"line":"context","step":0,"active":)" + active + "}\n";
}

/// Opens a recording whose first rank has more lines before its first training step ends.
std::shared_ptr<Trace> openWith(const std::string& lines) {
  const RecordingCopy copy;
  const std::string step = R"({"line":"step")";
  copy.change(kFirstFile, step, lines + step);
  return openTrace(copy.path());
}

/// Returns the number of backwards outside of the context, after a forward in it.
std::size_t countOutside(const std::string& later) {
  const auto trace =
      openWith(context("true") + attention("forward") + kLoss + context("false") + later);
  return outsideBackwards(*trace).value().size();
}

TEST(ImportContext, ABackwardThatBeginsOutsideAndRunsNoAttentionIsKept) {
  EXPECT_EQ(countOutside(kGradient + ownBackward()), 1u);
  EXPECT_EQ(countOutside(kGradient), 0u) << "the job may train layers after attention alone";
  EXPECT_EQ(countOutside(context("true") + kGradient + ownBackward()), 0u) << "another context";
  EXPECT_EQ(countOutside(kGradient + attention("backward") + ownBackward()), 0u);
  EXPECT_EQ(countOutside(""), 0u) << "no backward";
}

/// Returns an attention of a microbatch over the ranks of a group, or of one rank alone.
std::string attentionIn(int microbatch, const std::string& group) {
  return R"({"line":"attention","step":0,"microbatch":)" + std::to_string(microbatch) +
         R"(,"call":)" + std::to_string(900 + microbatch) + R"(,"direction":"forward")" +
         (group.empty() ? "" : R"(,"ring":{"group":")" + group + R"(","rank":0})") + "}\n";
}

TEST(ImportContext, GroupsThatChangeByMicrobatchLeaveNoGroupAndNoTokens) {
  const auto knows_tokens = [](const ShardRecord& shard) {
    return !shard.global_from_local.empty();
  };
  const auto same = openWith(attentionIn(1, "0") + attentionIn(2, "0"));
  EXPECT_EQ(same->run()->cp, 2);
  EXPECT_TRUE(std::ranges::any_of(same->shards(), knows_tokens));
  const auto alone = openWith(attentionIn(1, ""));
  EXPECT_EQ(alone->run()->cp, 1);
  EXPECT_TRUE(std::ranges::none_of(alone->shards(), knows_tokens));
}

TEST(ImportContext, ARecordingWithoutLinesOfTheContextSaysNothing) {
  EXPECT_FALSE(
      outsideBackwards(*openWith(attention("forward") + kLoss + kGradient + ownBackward())));
}

TEST(ImportContext, AttentionOfAnEvaluationNeedsNoBackward) {
  const std::string evaluation = R"({"line":"loss","step":0,"grad":false,"number":91})"
                                 "\n";
  const auto trace = openWith(context("true") + attention("forward") + evaluation +
                              context("false") + kLoss + kGradient + ownBackward());
  EXPECT_TRUE(outsideBackwards(*trace).value().empty());
}

TEST(ImportContext, BuffersThatWereRefusedKeepTheirShapes) {
  const auto trace =
      openWith(R"({"line":"uncut","step":0,"name":"places","seq_dim":1,"full_shape":[3,2,16]})"
               "\n");
  const auto buffers = uncutBuffers(*trace);
  ASSERT_EQ(buffers.size(), 1u);
  EXPECT_EQ(buffers.front().buffer, "places");
  EXPECT_EQ(buffers.front().seq_dim, 1);
  EXPECT_EQ(buffers.front().shape, (std::vector<std::int64_t>{3, 2, 16}));
}

std::string picked(int number) {
  return R"({"line":"loss","step":0,"grad":true,"operator":"picked","number":)" +
         std::to_string(number) + "}\n";
}

std::size_t countLosses(const std::string& lines) {
  return calledLosses(*openWith(lines), 0, WorldRank::of(0)).size();
}

TEST(ImportContext, PickedLogProbabilitiesCountOnlyWithoutACrossEntropy) {
  const std::string gradient = R"({"line":"loss_gradient","step":0,"number":91,"used":7})"
                               "\n";
  EXPECT_EQ(countLosses(picked(91)), 0u) << "backward does not reach it";
  EXPECT_EQ(countLosses(picked(91) + gradient), 1u);
  EXPECT_EQ(countLosses(kLoss + picked(91) + gradient), 1u) << "the cross entropy";
}

TEST(ImportContext, LogitsOfPicksBesideACrossEntropyAreNotItsLogits) {
  const auto count_logits = [](const std::string& losses) {
    const std::string logits =
        R"({"line":"tensor","id":9001,"what":"logits","step":7,"microbatch":0,"pass":"forward",)"
        R"("dtype":"float32","shape":[4,8],"hash":"00000000000000ff","stats":{"min":0,"max":1,)"
        R"("mean":0,"abs_max":1,"nan":0,"inf":0}})"
        "\n";
    return std::ranges::count_if(openWith(logits + losses)->tensors(), [](const auto& tensor) {
      return tensor.tensor.kind == TensorKind::kLogits && tensor.place.train_step == 7;
    });
  };
  const std::string pick = R"({"line":"loss","step":7,"grad":true,"operator":"picked","number":91,)"
                           R"("tensors":{"logits":9001}})"
                           "\n";
  const std::string own = R"({"line":"loss","step":7,"grad":true,"number":90})"
                          "\n";
  EXPECT_EQ(count_logits(""), 1);
  EXPECT_EQ(count_logits(pick + own), 0);
}

TEST(ImportContext, LossesThatBackwardComputesAgainAreLeftOut) {
  const std::string again =
      R"({"line":"loss","step":0,"grad":true,"number":91,"pass":"backward","tensors":{}})"
      "\n";
  EXPECT_EQ(countLosses(kLoss + again), 1u);
  EXPECT_EQ(countLosses(again), 1u) << "its forward ran without a graph";
}

TEST(ImportContext, EvaluatedAndAuxiliaryLossesAreKeptByRank) {
  const auto trace =
      openWith(R"({"line":"loss","step":0,"grad":false,"number":91,"sum":6.5,"targets":4})"
               "\n"
               R"({"line":"auxiliary_loss","step":0,"weight":0.02,"gradient":0.01,"part":true})"
               "\n");
  const auto evaluated = evaluatedLosses(*trace, 0, WorldRank::of(0));
  ASSERT_EQ(evaluated.size(), 1u);
  EXPECT_EQ(evaluated.front().sum, 6.5);
  EXPECT_EQ(evaluated.front().targets, 4);
  const auto auxiliary = auxiliaryLosses(*trace, 0, WorldRank::of(0));
  ASSERT_EQ(auxiliary.size(), 1u);
  EXPECT_EQ(auxiliary.front().gradient, 0.01);
  EXPECT_TRUE(auxiliary.front().part);
  EXPECT_TRUE(auxiliaryLosses(*trace, 0, WorldRank::of(1)).empty());
}

}  // namespace
}  // namespace ringscope::traces
