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
