// SPDX-License-Identifier: Apache-2.0
// A real recording of a ring that a job wrote by itself, changed into that of a job without
// annotations, whose attention the recorder recognised.
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "tests/support/place_at.h"
#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::rank;

using Changes = std::initializer_list<std::pair<std::string, std::string>>;

/// A recording without any annotation.
class Unannotated {
 public:
  Unannotated() {
    for (const char* kind : {"buffer", "block", "merge", "declared", "given", "log"})
      copy_.drop(kind);
    for (const char* file : test::kRankFiles)
      changeAll(file, {{R"("operator":"annotated")", R"("operator":"recognised")"},
                       {R"("causal":true)", R"("causal":null)"},
                       {R"("ring_steps":2)", R"("ring_steps":0)"}});
  }
  void changeAll(const std::string& file, Changes changes) const {
    std::string all = copy_.text(file);
    for (const auto& [from, to] : changes)
      for (std::size_t at = 0; (at = all.find(from, at)) != std::string::npos; at += to.size())
        all.replace(at, from.size(), to);
    copy_.put(file, all);
  }
  void drop(const std::string& kind) const { copy_.drop(kind); }
  /// Adds a line before the last one.
  void append(const std::string& file, const std::string& line) const {
    std::string all = copy_.text(file);
    const std::size_t end = all.rfind("{\"line\":\"end\"");
    copy_.put(file, all.insert(end, line + "\n"));
  }
  std::shared_ptr<Trace> open() const { return openTrace(copy_.path()); }

 private:
  test::RecordingCopy copy_{test::inSources("tests/reference/hand_recording")};
};

TEST(ImportRecognised, TokensAreThoseWhoseTargetsFollow) {
  const auto trace = Unannotated().open();
  for (const auto& [of, tokens] : {std::pair(rank(0), TokenRun{0, 8}), {rank(1), {8, 16}}}) {
    const ShardRecord* shard = trace->findShard("input_ids", 0, of);
    ASSERT_TRUE(shard);
    EXPECT_EQ(shard->global_from_local, std::vector{tokens});
    EXPECT_EQ(shard->full_shape, (std::vector<std::int64_t>{1, 16}));
  }
  EXPECT_EQ(trace->run()->mask, MaskKind::kCausal) << "it predicts the next token";
}

TEST(ImportRecognised, PositionsGiveTokensOnlyIfTheyAreOneSequence) {
  const Unannotated job;
  job.drop("loss");
  const auto trace = job.open();
  ASSERT_TRUE(trace->findShard("input_ids", 0, rank(1)));
  EXPECT_TRUE(trace->intents().empty()) << "nothing says what is attended";
  for (const char* file : test::kRankFiles)
    job.changeAll(file, {{R"("what":"rotary_position_ids")", R"("what":"other")"},
                         {R"("what":"position_ids")", R"("what":"other")"}});
  EXPECT_FALSE(job.open()->findShard("input_ids", 0, rank(1)));
}

TEST(ImportRecognised, RightAttentionIsJudgedRightAndHasNoFinding) {
  const Unannotated job;
  const auto trace = job.open();
  EXPECT_TRUE(diagnose(*trace).findings().empty());
  const auto members = trace->groupContaining(rank(0), GroupAxis::kCp)->members;
  const LayerCheck check = checkLayer(*trace, {0, Layer::of(0)}, members, 1e9);
  EXPECT_FALSE(check.tensors.empty());
  EXPECT_LT(check.worstRatio(), 1);
}

TEST(ImportRecognised, WrongAttentionIsPlacedAndIsOnlyLikely) {
  const Unannotated job;
  job.changeAll(test::kRankFiles[1], {{R"("what":"k")", R"("what":"was_k")"},
                                      {R"("what":"v")", R"("what":"k")"},
                                      {R"("what":"was_k")", R"("what":"v")"}});
  const auto findings = diagnose(*job.open()).findings();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().place.layer, Layer::of(0));
  for (const Finding& finding : findings) EXPECT_EQ(finding.confidence, Confidence::kLikely);
}

TEST(ImportRecognised, OperatorsThatAttendedTheOwnBlockAreLeftOut) {
  const Unannotated job;
  const auto before = job.open()->tensors().size();
  const std::string block =
      R"({"line":"attention","call":"plain-1","forward_call":"plain-1","direction":"forward",)"
      R"("step":0,"layer":0,"tensors":{"out":9000}})";
  const std::string out =
      R"({"line":"tensor","id":9000,"what":"out","name":"","step":0,"microbatch":0,"layer":5,)"
      R"("dtype":"float32","shape":[1],"hash":"0000000000000000","stats":{}})";
  const std::string attention = R"({"line":"attention","call":1,)";
  job.changeAll(test::kRankFiles[0], {{attention, out + "\n" + block + "\n" + attention}});
  EXPECT_EQ(job.open()->tensors().size(), before + 1);
  job.changeAll(test::kRankFiles[0], {{attention, attention + R"("own_block":"plain-1",)"}});
  EXPECT_EQ(job.open()->tensors().size(), before);
}

TEST(ImportRecognised, AHopThatOneRankDidNotRecogniseIsNotDropped) {
  const Unannotated job;
  job.changeAll(test::kRankFiles[1], {{R"("line":"hop")", R"("line":"other")"}});
  const auto trace = job.open();
  const Diagnosis diagnosis = diagnose(*trace);
  EXPECT_TRUE(diagnosis.findings().empty()) << toText(diagnosis);
  const auto entry =
      std::ranges::find(diagnosis.entries, std::string("dropped_hop"), &Diagnosis::Entry::rule);
  EXPECT_EQ(entry->result.verdict, Verdict::kNotObservable);
}

TEST(ImportRecognised, AttentionWithoutARecordedOutIsNotJudged) {
  const Unannotated job;
  for (const char* file : test::kRankFiles)
    job.changeAll(file, {{R"("what":"out")", R"("what":"other")"}, {R"("scale":)", R"("other":)"}});
  const auto trace = job.open();
  EXPECT_TRUE(diagnose(*trace).findings().empty());
  const auto members = trace->groupContaining(rank(0), GroupAxis::kCp)->members;
  const LayerCheck check = checkLayer(*trace, {0, Layer::of(0)}, members, 1e9);
  EXPECT_TRUE(check.tensors.empty());
  EXPECT_EQ(check.fits, AttentionFits::kNothing);
}

TEST(ImportRecognised, SeveralGroupsOfOneAttentionShareItsSequence) {
  const Unannotated job;
  for (const char* file : test::kRankFiles)
    job.changeAll(file, {{R"("ring":{"group":"0")", R"("ring":{"groups":["0"],"group":null)"}});
  const auto trace = job.open();
  const GroupRecord* cp = trace->groupContaining(rank(0), GroupAxis::kCp);
  ASSERT_TRUE(cp);
  EXPECT_EQ(cp->members, (std::vector{rank(0), rank(1)}));
  EXPECT_TRUE(trace->findShard("input_ids", 0, rank(1)));
}

TEST(ImportRecognised, TheOrderOfAnExchangeGivesTokensIfNothingElseDoes) {
  const Unannotated job;
  job.drop("loss");
  for (const char* file : test::kRankFiles)
    job.changeAll(
        file, {{R"("what":"rotary_position_ids")", R"("what":"other")"},
               {R"("what":"position_ids")", R"("what":"other")"},
               {R"("operator":"recognised")", R"("operator":"recognised","order":"head_tail")"}});
  const auto trace = job.open();
  const ShardRecord* shard = trace->findShard("input_ids", 0, rank(0));
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->global_from_local, (std::vector<TokenRun>{{0, 4}, {12, 16}}));
}

/// Adds a variable that ranks cut by these balances. `0` is its group.
void addCutVariable(const Unannotated& job, const std::string& name, const std::string& balances) {
  for (const char* file : test::kRankFiles)
    job.append(file, R"({"line":"cut_variable","step":0,"microbatch":0,"of":"whole","name":")" +
                         name + R"(","group":"0","shape":[1,8],"balances":[)" + balances + "]}");
}

TEST(ImportRecognised, VariablesThatTheJobCutHaveTokens) {
  const Unannotated job;
  addCutVariable(job, "mask", R"("head_tail","striped")");
  const auto trace = job.open();
  const ShardRecord* shard = trace->findShard("mask", 0, rank(0));
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->global_from_local, (std::vector<TokenRun>{{0, 4}, {12, 16}}));
  const auto findings = diagnose(*trace).findings();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings.front().rule, "companion_cut_otherwise");
}

TEST(ImportRecognised, AVariableThatIsAlsoCutAsTheTokensAreIsRight) {
  const Unannotated job;
  addCutVariable(job, "mask", R"("head_tail")");
  addCutVariable(job, "mask_in_order", R"("none")");
  const auto trace = job.open();
  EXPECT_FALSE(trace->findShard("mask", 0, rank(0))) << "left over from before the cut";
  EXPECT_TRUE(trace->findShard("mask_in_order", 0, rank(0)));
  EXPECT_TRUE(diagnose(*trace).findings().empty());
}

}  // namespace
}  // namespace ringscope::traces
