// SPDX-License-Identifier: Apache-2.0
// Rules about the ranks of a sequence in a job whose groups change. Ranks 0 and 1, and 2 and 3,
// share a sequence in the first microbatch. All four ranks share one in the second.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/wrong_rows.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;
using test::findVerdict;
using test::only;
using test::says;

/// Head and tail of each of two documents are dealt to each rank. Group 3 has all ranks, group 4
/// ranks that share a sequence in the second microbatch only.
constexpr const char* kChangingMesh = R"(
  note framework "pytorch"
  run command=import dp=4 seq_len=8 max_norm=1
  group cp 0,1 microbatch=0
  group cp 2,3 microbatch=0
  group cp 0,1,2,3 microbatch=1
  group other 0,1,2,3
  group other 0,2
  intent mask=documents balance=per_document documents=0-4,4-8 microbatch=0
  intent mask=documents balance=per_document documents=0-8,8-16 microbatch=1
  note step.0 {"step": 0, "grad_norm": 3}
  clip rank=0 time=10-20
)";
constexpr const char* kFirstMicrobatch = R"(
  shard input_ids rank=0 microbatch=0 full=1x8 tokens=0-1,3-5,7-8
  shard input_ids rank=1 microbatch=0 full=1x8 tokens=1-3,5-7
  shard input_ids rank=2 microbatch=0 full=1x8 tokens=0-1,3-5,7-8
  shard input_ids rank=3 microbatch=0 full=1x8 tokens=1-3,5-7
  tensor position_ids rank=0 microbatch=0 shape=1x4 values=0,3,4,7
  tensor position_ids rank=1 microbatch=0 shape=1x4 values=1,2,5,6
)";
constexpr const char* kSecondOfAll = R"(
  shard input_ids rank=0 microbatch=1 full=1x16 tokens=0-1,7-9,15-16
  shard input_ids rank=1 microbatch=1 full=1x16 tokens=1-2,6-7,9-10,14-15
  shard input_ids rank=2 microbatch=1 full=1x16 tokens=2-3,5-6,10-11,13-14
  shard input_ids rank=3 microbatch=1 full=1x16 tokens=3-5,11-13
)";
constexpr const char* kSummedBefore = "collective rank=0 group=3 payload=grads bytes=8 time=5-9\n";

constexpr const char* kGroupRules[] = {"clip_before_reduce", "cp_not_applied",
                                       "balance_cuts_documents", "balance_differs_between_buffers",
                                       "wrong_process_group"};

std::string changingJob(const std::string& first, const std::string& second,
                        const std::string& sum = kSummedBefore) {
  return kChangingMesh + first + second + sum + "end\n";
}

std::string positions(const std::vector<std::string>& by_rank) {
  std::string text;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    text += "  tensor position_ids rank=" + std::to_string(rank) +
            " microbatch=1 shape=1x4 values=" + by_rank[rank] + "\n";
  return text;
}

TEST(ChangingGroupsTest, RightMicrobatchesAreNotAccused) {
  const std::string text =
      changingJob(kFirstMicrobatch,
                  kSecondOfAll + positions({"0,7,8,15", "1,6,9,14", "2,5,10,13", "3,4,11,12"}));
  for (const char* rule : kGroupRules) EXPECT_NE(findVerdict(rule, text), Verdict::kFound) << rule;
  for (const char* judged : {"cp_not_applied", "balance_cuts_documents"})
    EXPECT_EQ(findVerdict(judged, text), Verdict::kClear) << judged;
}

TEST(ChangingGroupsTest, AWholeSequenceIsComparedWithItsOwnGroup) {
  std::string whole;
  for (int rank = 0; rank < 4; ++rank)
    whole += "  shard input_ids rank=" + std::to_string(rank) +
             " microbatch=1 full=1x16 local=1x16 tokens=0-16\n";
  const Finding finding = only(answerFrom("cp_not_applied", changingJob(kFirstMicrobatch, whole)));
  EXPECT_TRUE(says(finding, "configured for 4 ranks, as do 4 of these 4")) << finding.evidence;
  // A rank that shares a sequence with nobody holds all of it.
  const std::string alone =
      "group cp 0 microbatch=2\nshard input_ids rank=0 microbatch=2 full=1x8 tokens=0-8\n";
  EXPECT_EQ(findVerdict("cp_not_applied", changingJob(kFirstMicrobatch, alone)), Verdict::kClear);
}

TEST(ChangingGroupsTest, DocumentsAreDealtToTheRanksOfTheMicrobatch) {
  // The second microbatch is dealt as if two ranks shared it.
  const std::string halves = R"(
  shard input_ids rank=0 microbatch=1 full=1x16 tokens=0-2,6-10,14-16
  shard input_ids rank=1 microbatch=1 full=1x16 tokens=2-6,10-14
)";
  const Finding finding =
      only(answerFrom("balance_cuts_documents", changingJob(kFirstMicrobatch, halves)));
  EXPECT_TRUE(says(finding, "of 2 documents")) << finding.evidence;
  EXPECT_EQ(finding.rank, WorldRank::of(0));
}

TEST(ChangingGroupsTest, PositionsThatCountPartsAreFoundByTheSeatInTheMicrobatch) {
  const std::string parts =
      changingJob(kFirstMicrobatch,
                  kSecondOfAll + positions({"0,1,2,3", "4,5,6,7", "8,9,10,11", "12,13,14,15"}));
  const Finding finding = only(answerFrom("balance_differs_between_buffers", parts));
  EXPECT_TRUE(says(finding, "All position ids are those")) << finding.evidence;
  // These would be parts of two ranks' sequences, and four ranks share this one.
  const std::string pairs = changingJob(
      kFirstMicrobatch, kSecondOfAll + positions({"0,1,2,3", "4,5,6,7", "0,1,2,3", "4,5,6,7"}));
  EXPECT_NE(findVerdict("balance_differs_between_buffers", pairs), Verdict::kFound);
}

TEST(ChangingGroupsTest, AClippingBeforeASumOverRanksOfAnyMicrobatchIsFound) {
  const auto summed = [](int group, const std::string& more = "") {
    return findVerdict("clip_before_reduce",
                       changingJob(kFirstMicrobatch, kSecondOfAll,
                                   "collective rank=0 group=" + std::to_string(group) +
                                       " payload=grads bytes=8 time=30-90" + more + "\n"));
  };
  EXPECT_EQ(summed(3), Verdict::kFound);
  EXPECT_EQ(summed(4), Verdict::kFound) << "ranks 0 and 2 share the second sequence";
  EXPECT_NE(summed(4, " step=1"), Verdict::kFound) << "another step";
  std::string text = changingJob(kFirstMicrobatch, kSecondOfAll,
                                 "collective rank=0 group=4 payload=grads time=30-90\n");
  const std::string second = "group cp 0,1,2,3 microbatch=1";
  text.replace(text.find(second), second.size(), "group cp 0,1 microbatch=1");
  EXPECT_NE(findVerdict("clip_before_reduce", text), Verdict::kFound)
      << "ranks 0 and 2 share no sequence";
}

TEST(ChangingGroupsTest, TheWorstRowOfAStepIsOfNoRank) {
  const auto trace = test::makeTrace("run cp=4\ngroup cp 0,1 microbatch=0\n");
  DiffRecord diff;
  diff.tensor = "logits";
  diff.ratio_by_rank = {0.5, 4, 0.5, 0.5};
  EXPECT_FALSE(rankOfWorstRow(*trace, diff).exists());
  EXPECT_EQ(rankOfWorstRow(*test::makeTrace("run cp=4\n"), diff), WorldRank::of(1));
}

}  // namespace
}  // namespace ringscope::traces
