// SPDX-License-Identifier: GPL-3.0-or-later
// A rerun from an opened recording, with its data and its injected mistakes.
#include <QComboBox>
#include <QElapsedTimer>
#include <filesystem>
#include <fstream>

#include "tests/support/place_at.h"
#include "tests/support/run_program.h"
#include "tests/viz/sample_trace.h"
#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class WhatIfTest : public WindowTest {
 protected:
  /// Presses the button and waits for the run.
  void whatIf() {
    QTest::mouseClick(button("What if"), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.engine().active(); }, 5000));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window.engine().active(); }, 60000))
        << status().toStdString();
  }
};

TEST_F(WhatIfTest, ShowsTheNewRunBesideTheOldOneAndKeepsTheCursor) {
  openFile(test::sampleTraceFile(4, {}));
  const Place viewed = test::placeAt(1, 1, traces::Direction::kForward, 2);
  window.navigator().setPlace(viewed);
  window.navigator().selectRank(WorldRank::of(3));
  for (auto* box : window.findChildren<QComboBox*>())
    if (box->accessibleName() == "Balance") box->setCurrentText("none");
  QElapsedTimer clock;
  clock.start();
  whatIf();
  std::printf("what if: %lld ms\n", static_cast<long long>(clock.elapsed()));
  EXPECT_EQ(window.navigator().cursor().place, viewed);
  EXPECT_EQ(window.session().trace().run()->balance, traces::Balance::kNone);
  EXPECT_NE(status().indexOf("balance: head_tail → none"), -1);
  EXPECT_NE(status().indexOf("BEFORE · step 1: ✓ worst"), -1) << status().toStdString();
  const auto stages = window.findChildren<Stage*>();
  ASSERT_EQ(stages.size(), 2);
  for (auto* stage : stages) EXPECT_TRUE(stage->isVisible());
  QTest::keyClick(&window, Qt::Key_Escape);
  EXPECT_EQ(std::count_if(stages.begin(), stages.end(), [](auto* s) { return s->isVisible(); }), 1);
}

TEST_F(WhatIfTest, EveryHeadingStandsAboveItsRun) {
  openFile(test::sampleTraceFile(4, {}));
  whatIf();
  const auto x_of = [&](const QString& heading) {
    for (const auto* label : window.findChildren<QLabel*>())
      if (label->text().startsWith(heading + " · ")) return label->mapTo(&window, QPoint(0, 0)).x();
    ADD_FAILURE() << heading.toStdString() << " is no heading";
    return -1;
  };
  EXPECT_LT(x_of("BEFORE"), x_of("AFTER")) << "the stage of before is the left one";
  window.showView("compare");
  QCoreApplication::processEvents();
  // The cards are A, which is after, and B.
  EXPECT_LT(x_of("AFTER"), x_of("BEFORE"));
  window.showView("ring");
  EXPECT_LT(x_of("BEFORE"), x_of("AFTER"));
}

/// The statements of the Compare view about before and after.
class ComparedWhatIfTest : public WhatIfTest {
 protected:
  const traces::RunComparison& compared() {
    const Comparison& comparison = window.viewing().comparison;
    EXPECT_TRUE(QTest::qWaitFor([&] { return comparison.runs() != nullptr; }, 60000));
    EXPECT_TRUE(comparison.before());
    return comparison.runs()->comparison;
  }
};

TEST_F(ComparedWhatIfTest, ReportsThatAnUnchangedConfigurationChangesNothing) {
  openFile(test::sampleTraceFile(4, {}));
  window.navigator().setPlace(test::placeAt(1, 1, traces::Direction::kForward, 2));
  whatIf();
  EXPECT_NE(status().indexOf("What if · the same again"), -1) << status().toStdString();
  EXPECT_EQ(compared().settings, std::vector<std::string>());
  EXPECT_EQ(compared().first(), nullptr) << "the same numbers, bit for bit";
}

TEST_F(ComparedWhatIfTest, EverySettingThatDiffersIsNamedAndTheWorkIsThatOfThePlan) {
  openFile(test::sampleTraceFile(4, {}));
  window.navigator().setPlace(test::placeAt(0, 0, traces::Direction::kForward, 0));
  choice("Balance")->setCurrentText("none");
  choice("Hops")->setCurrentText("ordered");
  whatIf();
  EXPECT_EQ(compared().settings, (std::vector<std::string>{R"(balance: "none" against "head_tail")",
                                                           R"(p2p: "ordered" against "batched")"}));
  const traces::CostPair* step = compared().costsAt(Place{});
  ASSERT_NE(step, nullptr);
  // The last of four contiguous ranks of 32 tokens, compared with head and tail of 16 each.
  EXPECT_DOUBLE_EQ(*step->run[traces::Cost::kPairs] / *step->other[traces::Cost::kPairs],
                   (32 * 96 + 32 * 33 / 2.0) / (128 * 129 / 2.0 / 4));
  window.showView("compare");
  EXPECT_EQ(std::ranges::count_if(window.findChildren<Stage*>(), &QWidget::isVisible), 1)
      << "both runs are in this one view";
  window.showView("ring");
  EXPECT_EQ(std::ranges::count_if(window.findChildren<Stage*>(), &QWidget::isVisible), 2);
  QTest::keyClick(&window, Qt::Key_Escape);
  EXPECT_EQ(window.viewing().comparison.state(), Comparison::State::kNone);
}

/// The recording has two texts and a mistake; the next run uses both texts and injects the mistake
/// again.
TEST_F(WhatIfTest, AnOpenedRecordingKeepsItsTextsAndMistakes) {
  const std::string text = dir.file("own.txt");
  std::ofstream(text) << std::string(2000, 'x');
  const std::string path =
      test::traceFileWith("--text " + text + " --mistake missing_position_ids --cp 4");
  openFile(path);
  const auto texts = window.session().trace().run()->text;
  ASSERT_EQ(texts.size(), 2u);
  choice("Balance")->setCurrentText("none");
  whatIf();
  EXPECT_EQ(window.session().trace().run()->text, texts);
  EXPECT_NE(status().indexOf("What if · balance: head_tail → none\n"), -1)
      << "and nothing else: " << status().toStdString();
  EXPECT_EQ(status().indexOf("Injected"), -1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 60000));
  ASSERT_EQ(window.session().diagnosis()->findings().size(), 1u);
  EXPECT_EQ(window.session().diagnosis()->findings().front().rule, "missing_position_ids");
}

/// A recording from another machine.
TEST_F(WhatIfTest, ReportsAMissingTextBeforeAndInTheChange) {
  const std::string text = dir.file("own.txt");
  std::ofstream(text) << std::string(2000, 'x');
  const std::string path = dir.file("own.rscope");
  ASSERT_EQ(
      test::ringscope("train --text " + text + " --steps 1 --seq-len 64 --trace " + path).code, 0);
  openFile(path);
  const auto* panel = window.findChild<RunPanel*>();
  EXPECT_EQ(status().indexOf("is not here"), -1);
  EXPECT_EQ(changes(panel->recordedConfig(), panel->config()), "");
  std::filesystem::remove(text);
  openFile(path);
  const QString name = QString::fromStdString(text);
  EXPECT_NE(status().indexOf("▲ " + name + " is not here: a run has the sample text instead"), -1)
      << status().toStdString();
  EXPECT_EQ(changes(panel->recordedConfig(), panel->config()),
            "text: " + name + " → the sample text");
}

TEST_F(WhatIfTest, AnAttentionByItselfCannotBeTrainedAgain) {
  openFile(test::documentsTraceFile(""));
  EXPECT_FALSE(button("What if")->isEnabled());
  EXPECT_NE(status().indexOf("an attention by itself"), -1) << status().toStdString();
}

}  // namespace
}  // namespace ringscope::viz
