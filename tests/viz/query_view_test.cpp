// SPDX-License-Identifier: GPL-3.0-or-later
// The query view in the window, used by mouse and keys.
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTableView>

#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class QueryViewTest : public WindowTest {
 protected:
  QueryViewTest() {
    open();
    window.showView("query");
    view = window.findChild<Stage*>()->currentWidget();
    table = view->findChild<QTableView*>();
    sql = view->findChild<QPlainTextEdit*>();
  }
  bool hasRows() {
    return QTest::qWaitFor([&] { return table->model()->rowCount() > 0; }, 5000);
  }
  void write(const QString& text) {
    sql->setFocus();
    sql->selectAll();
    QTest::keyClicks(sql, text);
    QTest::keyClick(sql, Qt::Key_Return, Qt::ControlModifier);
  }
  QString cell(int row, const QString& column) const {
    for (int i = 0; i < table->model()->columnCount(); ++i)
      if (table->model()->headerData(i, Qt::Horizontal).toString() == column)
        return table->model()->index(row, i).data().toString();
    return "no such column";
  }
  void press(const QString& name) {
    for (auto* b : view->findChildren<QPushButton*>())
      if (b->text() == name) return QTest::mouseClick(b, Qt::LeftButton);
    ADD_FAILURE() << "no button " << name.toStdString();
  }
  void clickRow(int row) {
    QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                      table->visualRect(table->model()->index(row, 0)).center());
  }
  bool says(const QString& words) {
    return QTest::qWaitFor([&] { return view->accessibleDescription() == words; }, 5000);
  }
  QWidget* view;
  QTableView* table;
  QPlainTextEdit* sql;
};

TEST_F(QueryViewTest, ListsTheEventsOfTheViewedRingStepAndFollowsIt) {
  ASSERT_TRUE(hasRows());
  EXPECT_EQ(cell(0, "stage"), "0");
  window.navigator().setMoment(2, 0);
  EXPECT_TRUE(QTest::qWaitFor([&] { return cell(0, "stage") == "2"; }, 5000));
}

TEST_F(QueryViewTest, ARowThatIsClickedLeadsToItsPlaceAndTheRowsStay) {
  ASSERT_TRUE(hasRows());
  write(
      "SELECT train_step, layer, direction, stage, rank FROM events WHERE kind = 'attend' AND "
      "layer = 1 AND direction = 'backward' ORDER BY rank DESC, stage DESC");
  ASSERT_TRUE(QTest::qWaitFor([&] { return cell(0, "rank") == "3"; }, 5000));
  clickRow(0);
  const Cursor& cursor = window.navigator().cursor();
  EXPECT_EQ(cursor.rank, traces::WorldRank::of(3));
  EXPECT_EQ(cursor.place.layer, Layer::of(1));
  EXPECT_EQ(cursor.place.direction, traces::Direction::kBackward);
  QTest::qWait(50);
  EXPECT_EQ(cell(0, "rank"), "3");
}

TEST_F(QueryViewTest, FocusAloneLeadsNowhere) {
  ASSERT_TRUE(hasRows());
  const Cursor before = window.navigator().cursor();
  table->clearFocus();
  table->setFocus();
  QTest::qWait(20);
  EXPECT_EQ(window.navigator().cursor(), before);
  QTest::keyClick(table, Qt::Key_Down);
  QTest::keyClick(table, Qt::Key_Down);
  EXPECT_NE(window.navigator().cursor(), before) << "a row that is chosen by keys leads on";
}

TEST_F(QueryViewTest, ReportsTheErrorOfAQuery) {
  ASSERT_TRUE(hasRows());
  write("SELECT nonsense FROM events");
  EXPECT_TRUE(says("the query cannot be run: no such column: nonsense"))
      << view->accessibleDescription().toStdString();
  EXPECT_EQ(table->model()->rowCount(), 0);
}

TEST_F(QueryViewTest, AQueryThatTakesLongIsStoppedByTheButton) {
  ASSERT_TRUE(hasRows());
  write("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n");
  ASSERT_TRUE(says("running"));
  press("Cancel");
  EXPECT_TRUE(says("stopped"));
  press("Ask");
  EXPECT_TRUE(says("running")) << "it can be run again";
}

TEST_F(QueryViewTest, ALongQuerySaysHowFarItIsAndEscEndsIt) {
  ASSERT_TRUE(hasRows());
  write("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n");
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return view->accessibleDescription().startsWith("running: 0 rows after "); }, 5000))
      << view->accessibleDescription().toStdString();
  EXPECT_TRUE(view->accessibleDescription().endsWith("Esc cancels"));
  QTest::keyClick(table, Qt::Key_Escape);
  EXPECT_TRUE(says("stopped"));
}

TEST_F(QueryViewTest, RowsAreCopiedAsATable) {
  ASSERT_TRUE(hasRows());
  write("SELECT 5 AS five, 'x' AS letter");
  ASSERT_TRUE(says("1 row"));
  press("Copy");
  EXPECT_EQ(QApplication::clipboard()->text(), "five\tletter\n5\tx");
}

}  // namespace
}  // namespace ringscope::viz
