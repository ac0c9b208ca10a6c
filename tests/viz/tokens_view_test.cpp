// SPDX-License-Identifier: GPL-3.0-or-later
// The Tokens view: real events, and a second recording below the losses.
#include "tests/viz/window_fixture.h"
#include "viz/views/tokens/tokens_painter.h"

namespace ringscope::viz {
namespace {

test::RingRun withLogits() {
  test::RingRun run;
  run.keeps_logits = true;
  return run;
}

class TokensViewTest : public WindowTest {
 protected:
  View* show() {
    window.showView("tokens");
    auto* view = qobject_cast<View*>(window.findChild<Stage*>()->currentWidget());
    EXPECT_TRUE(QTest::qWaitFor([&] { return !view->isMaking(); }, 10000));
    QTest::qWait(20);
    return view;
  }
};

TEST_F(TokensViewTest, ShowsTheLossesAndAClickSelectsATokenInAllViews) {
  open(withLogits());
  View* view = show();
  EXPECT_TRUE(view->accessibleDescription().startsWith("Mean loss "))
      << view->accessibleDescription().toStdString();
  const QImage before = view->grab().toImage();
  EXPECT_GT(distinctColors(before), 30);
  const QPoint at(view->width() / 2, view->height() / 2);
  QTest::mouseClick(view, Qt::LeftButton, {}, at);
  const TokenIndex token = window.navigator().cursor().token;
  ASSERT_TRUE(token.exists());
  EXPECT_NEAR(static_cast<double>(token.value()), 64, 8);
  EXPECT_NE(view->grab().toImage(), before) << "it is marked";
  QTest::mouseDClick(view, Qt::LeftButton, {}, at);
  EXPECT_EQ(window.findChild<StageArea*>()->shown(), "merge");
  EXPECT_EQ(window.navigator().cursor().token, token);
}

TEST_F(TokensViewTest, SaysWhatWouldRecordMissingLogits) {
  open();
  View* view = show();
  EXPECT_TRUE(view->accessibleDescription().contains("logits of rank 0 is not recorded"))
      << view->accessibleDescription().toStdString();
}

TEST_F(TokensViewTest, TheSecondRecordingOfCompareIsBelow) {
  open(withLogits());
  test::RingRun other = withLogits();
  other.guesses_from = 64;
  test::recordFile(other, dir.file("b.rscope"), "");
  View* view = show();
  EXPECT_FALSE(view->accessibleDescription().contains("Against"));
  window.compareWith(QString::fromStdString(dir.file("b.rscope")), "");
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return view->accessibleDescription().contains("Against b.rscope token"); }, 10000))
      << view->accessibleDescription().toStdString();
  auto* choice = this->choice("Compare losses with");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->currentText(), "with b.rscope");
  choice->setCurrentIndex(0);
  Q_EMIT choice->activated(0);
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return !view->accessibleDescription().contains("Against"); }, 10000));
}

TEST_F(TokensViewTest, FollowsTheTrainingStep) {
  open(withLogits());
  View* view = show();
  const QImage first = view->grab().toImage();
  QTest::keyClick(view, Qt::Key_Right, Qt::ControlModifier);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !view->isMaking(); }, 10000));
  EXPECT_EQ(window.navigator().cursor().place.train_step, 1);
  EXPECT_NE(view->grab().toImage(), first) << "the title names the step";
}

}  // namespace
}  // namespace ringscope::viz
