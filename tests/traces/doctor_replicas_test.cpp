// SPDX-License-Identifier: Apache-2.0
// Whether ranks hold replicas or parts: jobs without recorded groups, and partitions of optimizers.
#include <gtest/gtest.h>

#include "tests/traces/doctor_answers.h"

namespace ringscope::traces {
namespace {

using test::answerFrom;

TEST(MissingCpGradReduceRuleTest, CannotSayWithoutTheGroupsOfAnImportedJob) {
  const std::string ranks = "tensor grad.w rank=0 hash=7\ntensor grad.w rank=1 hash=8\n";
  for (const char* run : {"run command=import dp=2 cp=1\n", "run command=import dp=1 cp=2\n"})
    EXPECT_EQ(answerFrom("missing_cp_grad_reduce", run + ranks).verdict, Verdict::kNotObservable);
  EXPECT_EQ(answerFrom("missing_cp_grad_reduce",
                       "run command=import dp=1 cp=2\ngroup cp 0,1\ngroup dp_cp 0,1\n" + ranks)
                .verdict,
            Verdict::kFound);
}

TEST(MissingCpGradReduceRuleTest, DpReplicasThatAllDifferMayBeMeant) {
  const auto verdict = [](const std::string& hashes) {
    return answerFrom("missing_cp_grad_reduce",
                      "run command=import dp=2 cp=2\ngroup cp 0,1\ngroup cp 2,3\n"
                      "group dp_cp 0,1,2,3\n" +
                          hashes)
        .verdict;
  };
  const std::string one =
      "tensor grad.w rank=0 hash=7\ntensor grad.w rank=1 hash=7\n"
      "tensor grad.w rank=2 hash=8\ntensor grad.w rank=3 hash=8\n";
  EXPECT_EQ(verdict(one), Verdict::kNotObservable);
  EXPECT_EQ(verdict(one + "tensor grad.v rank=0 hash=7\ntensor grad.v rank=1 hash=7\n"
                          "tensor grad.v rank=2 hash=7\ntensor grad.v rank=3 hash=7\n"),
            Verdict::kFound)
      << "another parameter is summed over dp";
  EXPECT_EQ(verdict("tensor grad.w rank=0 hash=7\ntensor grad.w rank=1 hash=6\n"
                    "tensor grad.w rank=2 hash=8\ntensor grad.w rank=3 hash=8\n"),
            Verdict::kFound);
}

TEST(MissingCpGradReduceRuleTest, PartitionsOfAnOptimizerAreNoReplicas) {
  const auto verdict = [](const std::string& name) {
    return answerFrom("missing_cp_grad_reduce", "run cp=2\ngroup dp_cp 0,1\ntensor grad." + name +
                                                    " rank=0 hash=7\ntensor grad." + name +
                                                    " rank=1 hash=8\n")
        .verdict;
  };
  EXPECT_EQ(verdict("group0.0"), Verdict::kNotObservable);
  EXPECT_EQ(verdict("group_norm"), Verdict::kFound) << "a parameter of the model";
}

}  // namespace
}  // namespace ringscope::traces
