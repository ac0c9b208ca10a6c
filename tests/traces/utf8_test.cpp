// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/utf8.h"

#include <gtest/gtest.h>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

TEST(PlainTextTest, ControlCharactersAreReplaced) {
  EXPECT_EQ(toPlainText("q · layer 1"), "q · layer 1");
  EXPECT_EQ(toPlainText("a\x1b[2J\x07"), "a\uFFFD[2J\uFFFD");
  EXPECT_EQ(toPlainText("two\nlines\tof it"), "two lines of it");
  EXPECT_EQ(toPlainText("\xC2\x9B\xFF\x7F"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(toPlainText(std::string(100, 'x'), 10), "xxxxxxxxxx…");
  EXPECT_TRUE(isPlainText("grad.lm_head.weight"));
  EXPECT_FALSE(isPlainText("grad\n"));
  EXPECT_FALSE(isPlainText("grad\xC2\x85"));
}

TEST(PlainTextTest, ListsTheFirstProblemsAndCountsTheOthers) {
  Trace trace;
  for (int i = 0; i < 1000; ++i) trace.addProblem("problem " + std::to_string(i) + "\x1b");
  trace.addFirstProblem("the worst");
  ASSERT_EQ(trace.problems().size(), 52u);
  EXPECT_EQ(trace.problems().front(), "the worst");
  EXPECT_EQ(trace.problems()[1], "problem 0\uFFFD");
  EXPECT_EQ(trace.problems().back(), "950 more problems are not listed");
}

}  // namespace
}  // namespace ringscope::traces
