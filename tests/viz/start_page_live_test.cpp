// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that begin at the start page.
#include "tests/viz/start_page_fixture.h"
#include "viz/window/mistakes_dialog.h"

namespace ringscope::viz {
namespace {

TEST_F(StartPageTest, EnterOnTheFirstDoorRunsTheSample) {
  ASSERT_EQ(QApplication::focusWidget(), button("Run the sample"));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.session().trace().moments().size() > 5; }, 20000))
      << status().toStdString();
  EXPECT_FALSE(start().isVisible());
  window.engine().stop();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window.engine().active(); }, 20000));
}

TEST_F(StartPageTest, TheMistakesDialogExplainsAMistakeAndRunsIt) {
  QTest::mouseClick(tool("Mistakes"), Qt::LeftButton);
  auto* mistakes = window.findChild<MistakesDialog*>();
  ASSERT_TRUE(mistakes);
  auto* list = mistakes->findChild<QListWidget*>();
  const auto* page = mistakes->findChild<QTextBrowser*>();
  EXPECT_TRUE(page->toPlainText().contains("What happens"));
  for (int row = 0; row < list->count(); ++row)
    if (list->item(row)->data(Qt::UserRole).toString() == "naive_sum_merge")
      list->setCurrentRow(row);
  EXPECT_TRUE(page->toPlainText().contains("naive_sum_merge")) << page->toPlainText().toStdString();
  QTest::mouseClick(button("Run with this mistake"), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 60000));
  ASSERT_FALSE(window.session().diagnosis()->findings().empty());
  EXPECT_EQ(window.session().diagnosis()->findings().front().rule, "naive_sum_merge");
}

}  // namespace
}  // namespace ringscope::viz
