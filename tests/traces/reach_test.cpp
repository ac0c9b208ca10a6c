// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/reach.h"

#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {
namespace {

const std::string kValues = "tensor out layer=0 step=0 shape=2 values=1,2\n",
                  kStats = "tensor out layer=0 step=1 shape=2 min=1 max=2\n";

TEST(ReachTest, ReportsStepsWithoutValues) {
  const auto trace = test::makeTrace("run cp=2 seq_len=4\n" + kValues + kStats + "end\n");
  EXPECT_EQ(describeReach(Readings(*trace)),
            "Values of attention were kept of step 0 alone, of 2 recorded training steps: a "
            "mistake of the "
            "others shows only as far as events and statistics tell.");
  const Diagnosis diagnosis = diagnose(*trace);
  EXPECT_NE(toText(diagnosis).find(diagnosis.reach + "\n"), std::string::npos);
  EXPECT_EQ(toJson(diagnosis)["reach"], diagnosis.reach);
}

TEST(ReachTest, AStepOfWhichNoTensorWasKeptCounts) {
  const std::string later = "attend rank=0 layer=0 step=1 stage=0 source=0 q=0-2 k=0-2\n";
  EXPECT_NE(describeReach(Readings(*test::makeTrace("run cp=2 seq_len=4\n" + kValues + later))),
            "");
  const std::string ids = "tensor buffer.input_ids rank=0 step=1 shape=1x2 values=1,2\n";
  EXPECT_NE(
      describeReach(Readings(*test::makeTrace("run cp=2 seq_len=4\n" + kValues + later + ids))), "")
      << "every capture keeps the tokens";
}

TEST(ReachTest, ReportsNothingWhenAllStepsOrNoneHaveValues) {
  EXPECT_EQ(describeReach(Readings(*test::makeTrace("run cp=2 seq_len=4\n" + kValues))), "");
  EXPECT_EQ(describeReach(Readings(*test::makeTrace("run cp=2 seq_len=4\n" + kStats))), "");
  EXPECT_EQ(toText(diagnose(*test::makeTrace("run cp=2 seq_len=4\nend\n"))).find("were kept of"),
            std::string::npos);
}

}  // namespace
}  // namespace ringscope::traces
