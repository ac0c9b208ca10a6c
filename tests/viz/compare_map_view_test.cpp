// SPDX-License-Identifier: GPL-3.0-or-later
// The map of |A − B| in the compare view, used by mouse.
#include "tests/viz/compare_fixture.h"

namespace ringscope::viz {
namespace {

using CompareMapViewTest = CompareViewTest;

/// With 128 tokens on more than 128 pixels, each token has a column of its own.
TEST_F(CompareMapViewTest, TheMapSaysWhatIsUnderThePointerAndAClickGoesThere) {
  compare(test::contiguous());
  const auto& map = *comparison().map();
  ASSERT_EQ(map.lines.size(), 4u);
  ASSERT_EQ(map.tokens.size(), 128u);
  EXPECT_NE(painted().find("|A − B| OF out, LAYER 0 · FORWARD, BY HEAD AND TOKEN"),
            std::string::npos);
  pointAt(onMap(2, 100));
  const traces::RowDifference row = map.row(2, 100);  // the map follows the selection
  const std::string said_there = describeRow(scene().map, 2 * 128 + 100);
  EXPECT_NE(painted().find(said_there + "."), std::string::npos) << said_there;
  pointAt({5, 5});
  EXPECT_EQ(painted().find(said_there + "."), std::string::npos) << "the pointer has gone on";
  const QRectF box = compareMap(page(), scene());
  ASSERT_LT(box.bottom(), view->QWidget::height()) << "it is in sight";
  window.navigator().setPlace(test::backwardAt(1, 2));
  ASSERT_TRUE(shows("out", 1)) << "the selection is linked";
  click(onMap(2, 100));
  EXPECT_EQ(window.navigator().cursor().place, test::forwardAt(1, 0));
  EXPECT_EQ(window.navigator().cursor().rank, row.rank) << "who had it in A";
  EXPECT_EQ(window.navigator().cursor().tensor, "out");
  EXPECT_TRUE(status().contains("head 2, token 100")) << status().toStdString();
}

TEST_F(CompareMapViewTest, BracketsGoThroughTheRowsThatDiffer) {
  compare(test::contiguous());
  view->setFocus();
  QTest::keyClick(view, Qt::Key_BracketRight);
  QTest::qWait(10);
  const auto worst = rowThatDiffers(scene().map, {}, true);
  ASSERT_TRUE(worst);
  const std::string said_there = describeRow(scene().map, *worst);
  EXPECT_EQ(said(), QString::fromStdString(said_there));
  EXPECT_TRUE(status().contains(QString::fromStdString(said_there))) << status().toStdString();
  EXPECT_EQ(window.navigator().cursor().rank, comparison().map()->rows[*worst].rank);
  QTest::keyClick(view, Qt::Key_BracketRight);
  const auto next = rowThatDiffers(scene().map, worst, true);
  EXPECT_EQ(said(), QString::fromStdString(describeRow(scene().map, *next)));
  QTest::keyClick(view, Qt::Key_BracketLeft);
  EXPECT_EQ(said(), QString::fromStdString(said_there));
}

TEST_F(CompareMapViewTest, AChosenRowHasItsMap) {
  compare();
  turned = {"layer 1 · forward"};
  clickRow("layer 1 · forward", 10);
  clickRow("k");
  EXPECT_TRUE(shows("k", 1));
  QTest::qWait(20);
  EXPECT_NE(painted().find("|A − B| OF k, LAYER 1 · FORWARD"), std::string::npos) << painted();
  window.navigator().setPlace(test::placeAt(1, 0, traces::Direction::kForward, 0));
  EXPECT_TRUE(shows("k", 1)) << "of the same row in another training step";
}

TEST_F(CompareMapViewTest, ATensorWithoutRowsByTokenIsSaidToBeComparedAsAWhole) {
  compare();
  window.navigator().selectTensor("logits");
  QTest::qWait(20);
  EXPECT_NE(painted().find("logits is compared as a whole."), std::string::npos);
  EXPECT_FALSE(comparison().makesMap());
}

TEST_F(CompareMapViewTest, AMapNeedsNoSecondOpeningOfTheFile) {
  compare();
  std::filesystem::remove(dir.file("other.rscope"));
  window.navigator().selectTensor("v");
  EXPECT_TRUE(QTest::qWaitFor([&] { return !comparison().makesMap(); }, 10000));
  EXPECT_TRUE(comparison().map());
  EXPECT_EQ(comparison().mapProblem().toStdString(), "");
}

}  // namespace
}  // namespace ringscope::viz
