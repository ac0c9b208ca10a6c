// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/injected.h"

#include <gtest/gtest.h>

#include "traces/format/core/error.h"

namespace ringscope::viz {
namespace {

const std::string kBegan = R"({"command_line": "train", "mistakes": ["naive_sum_merge:layer=1"]})";
const std::string kBeganRight = R"({"command_line": "train", "mistakes": []})";
const std::string kAdded =
    R"({"control": "inject", "mistake": "stale_kv_in_backward", "from_train_step": 3})";
const std::string kTakenAway =
    R"({"control": "lift", "mistake": "stale_kv_in_backward", "from_train_step": 5})";

TEST(InjectedTest, ARunThatBeganRightAndStayedSoHadNothing) {
  const Injected injected({kBeganRight});
  EXPECT_EQ(injected.describe(), "✓ Nothing was injected.");
  EXPECT_FALSE(injected.changed());
  EXPECT_TRUE(injected.fromStart().isEmpty());
}

TEST(InjectedTest, ReportsMistakesAddedAndRemovedLaterWithTheirSteps) {
  const Injected injected({kBeganRight, kAdded, kTakenAway});
  const QString words = injected.describe();
  EXPECT_FALSE(words.contains("Nothing")) << words.toStdString();
  EXPECT_TRUE(words.contains(", added from training step 3 on; ")) << words.toStdString();
  EXPECT_TRUE(words.endsWith(", taken away from training step 5 on")) << words.toStdString();
  EXPECT_TRUE(injected.changed());
}

TEST(InjectedTest, OnlyWhatARunBeganWithIsForTheNextOne) {
  const Injected injected({kBegan, kAdded});
  EXPECT_EQ(injected.fromStart(), QStringList{"naive_sum_merge:layer=1"});
  EXPECT_TRUE(injected.describe().contains("(layer 1)")) << injected.describe().toStdString();
}

TEST(InjectedTest, AMistakeAddedBeforeTheFirstStepIsOneThatTheRunBeganWith) {
  const Injected injected(
      {kBeganRight, R"({"control": "inject", "mistake": "lse_base2", "from_train_step": 0})"});
  EXPECT_EQ(injected.fromStart(), QStringList{"lse_base2"});
  EXPECT_FALSE(injected.changed());
}

TEST(InjectedTest, DocumentsOfOtherShapesAreNoMistakesAndNoFailure) {
  const Injected injected({"[1]", R"({"mistakes": [7]})", R"({"control": "inject"})",
                           R"({"control": "pause", "mistake": "naive_sum_merge"})",
                           R"({"control": "inject", "mistake": {}, "from_train_step": "x"})",
                           R"({"control": "lift", "mistake": "%1 %2", "from_train_step": 4})"});
  EXPECT_TRUE(injected.fromStart().isEmpty());
  EXPECT_EQ(injected.describe(),
            "▲ Injected: 7; {}, added while it ran; \"%1 %2\", taken away from training step 4 on");
  EXPECT_THROW(Injected({"{"}), Error);
}

}  // namespace
}  // namespace ringscope::viz
