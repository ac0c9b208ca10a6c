// SPDX-License-Identifier: GPL-3.0-or-later
// Files and folders that are dropped on the window.
#include <QDir>
#include <QDropEvent>
#include <QMimeData>

#include "tests/viz/own_runs.h"
#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class DropTest : public OwnRuns, public WindowTest {
 protected:
  QUrl record(const char* name) {
    test::recordFile({}, dir.file(name));
    return fileUrl(name);
  }
  QUrl fileUrl(const char* name) {
    return QUrl::fromLocalFile(QString::fromStdString(dir.file(name)));
  }
  void drop(const QList<QUrl>& urls) {
    QMimeData data;
    data.setUrls(urls);
    const QPoint middle = window.rect().center();
    QDragEnterEvent enter(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QDropEvent dropped(QPointF(middle), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &dropped);
  }
  bool showsNotice() { return window.page().stage()->notice()->isVisible(); }
  bool isShown(const char* name) {
    return QTest::qWaitFor([&] { return window.session().path() == fileUrl(name).toLocalFile(); },
                           10000);
  }
};

TEST_F(DropTest, AFileIsOpenedAlsoOnTheStartPage) {
  window.page().showStart(true);
  drop({record("a.rscope")});
  EXPECT_TRUE(isShown("a.rscope"));
  EXPECT_FALSE(window.page().start()->isVisible());
  EXPECT_EQ(window.viewing().comparison.state(), Comparison::State::kNone);
}

TEST_F(DropTest, OfTwoFilesTheFirstIsOpenedAndTheSecondCompared) {
  drop({record("a.rscope"), record("b.rscope")});
  ASSERT_TRUE(isShown("a.rscope"));
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return window.viewing().comparison.state() == Comparison::State::kDone; }, 20000));
  EXPECT_EQ(window.viewing().comparison.other(), fileUrl("b.rscope").toLocalFile());
  EXPECT_EQ(window.page().stage()->shown(), "compare");
  EXPECT_FALSE(showsNotice());
}

TEST_F(DropTest, AFolderWithoutARecordingIsSaidToBeOne) {
  drop({record("a.rscope")});
  ASSERT_TRUE(isShown("a.rscope"));
  QDir().mkpath(fileUrl("empty").toLocalFile());
  QSignalSpy opened(&window, &MainWindow::opened);
  drop({fileUrl("empty")});
  ASSERT_TRUE(opened.wait(10000));
  EXPECT_NE(opened.first().first().toString(), "");
  EXPECT_TRUE(window.page().stage()->problemCard()->isVisible());
  EXPECT_EQ(window.session().path(), fileUrl("a.rscope").toLocalFile()) << "it stays on show";
}

TEST_F(DropTest, ASecondFileThatCannotBeReadIsANoticeWithTheReason) {
  std::ofstream(dir.file("notes.txt")) << "no recording";
  drop({record("a.rscope"), fileUrl("notes.txt")});
  ASSERT_TRUE(isShown("a.rscope"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return showsNotice(); }, 20000));
  EXPECT_TRUE(status().contains("notes.txt cannot be compared")) << status().toStdString();
  EXPECT_TRUE(status().contains(window.viewing().comparison.problem()));
  EXPECT_NE(window.viewing().comparison.problem(), "");
}

TEST_F(DropTest, OfMoreThanTwoTheNoticeSaysWhichAreOpened) {
  drop({record("a.rscope"), record("b.rscope"), record("c.rscope")});
  ASSERT_TRUE(isShown("a.rscope"));
  EXPECT_TRUE(status().contains("Two of 3 recordings are opened"));
}

TEST_F(DropTest, AnAddressOfTheWebIsNoRecording) {
  drop({QUrl("https://example.org/run.rscope")});
  EXPECT_TRUE(showsNotice());
  EXPECT_TRUE(status().contains("is no file or folder of this machine"));
}

}  // namespace
}  // namespace ringscope::viz
