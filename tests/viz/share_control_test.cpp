// SPDX-License-Identifier: GPL-3.0-or-later
// Sharing from the window: the menu, the dialogs, and the finding that is copied.
#include "viz/window/share_control.h"

#include <QClipboard>
#include <QFileDialog>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QTimer>

#include "tests/support/run_program.h"
#include "tests/viz/window_fixture.h"
#include "viz/window/export_button.h"
#include "viz/window/share_dialog.h"

namespace ringscope::viz {
namespace {

class ShareControlTest : public WindowTest {
 protected:
  ShareControlTest() {
    const std::string program = test::kWindow;
    qputenv("RINGSCOPE_PROGRAMS", program.substr(0, program.rfind('/')).c_str());
  }
  ~ShareControlTest() override { qunsetenv("RINGSCOPE_PROGRAMS"); }

  ExportButton* exporter() { return window.findChild<ExportButton*>(); }
  /// Presses Ctrl+E and chooses the entry by Up, `from_end` entries above the first one.
  void choose(int from_end) {
    QTest::keyClick(&window, Qt::Key_E, Qt::ControlModifier);
    auto* menu = exporter()->findChild<QMenu*>();
    ASSERT_TRUE(QTest::qWaitFor([&] { return menu->isVisible(); }, 2000));
    for (int i = 0; i < from_end; ++i) QTest::keyClick(menu, Qt::Key_Up);
    QTest::keyClick(menu, Qt::Key_Return);
  }
  /// Answers the dialogs that follow, each by a timer of its own.
  void answer(const QString& path, const QStringList& unchecked, int times = 100) {
    QTimer::singleShot(50, &window, [=, this] {
      if (times > 0) answer(path, unchecked, times - 1);
      auto* on_top = QApplication::activeModalWidget();
      if (auto* share = qobject_cast<ShareDialog*>(on_top)) {
        for (const QString& view : unchecked) {
          auto* box = share->findChild<QCheckBox*>(view);
          QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
        }
        return QTest::keyClick(share, Qt::Key_Return);
      }
      auto* dialog = qobject_cast<QFileDialog*>(on_top);
      if (!dialog) return;
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    });
  }
};

TEST_F(ShareControlTest, SharesTheOpenedRecordingAsAPage) {
  open();
  const QString path = QString::fromStdString(dir.file("run.html"));
  answer(path, {"timeline", "memory", "curves", "diff", "positions"});
  choose(2);
  ASSERT_TRUE(QTest::qWaitFor([&] { return status().contains("exported: "); }, 30000))
      << status().toStdString();
  EXPECT_TRUE(status().contains("3 views")) << status().toStdString();
  EXPECT_TRUE(test::readContent(path.toStdString()).starts_with("<!doctype html>"));
  EXPECT_EQ(exporter()->text(), "Export …");
}

TEST_F(ShareControlTest, WritesAReport) {
  open(restartingPositions());
  const QString path = QString::fromStdString(dir.file("run.md"));
  answer(path, {});
  choose(1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return status().contains("exported: "); }, 30000))
      << status().toStdString();
  EXPECT_NE(test::readContent(path.toStdString()).find("**Evidence.**"), std::string::npos);
}

TEST_F(ShareControlTest, SaysWhatIsMissingWithoutTheProgram) {
  qputenv("RINGSCOPE_PROGRAMS", dir.file("").c_str());
  open();
  answer("x.md", {}, 0);
  choose(1);
  EXPECT_TRUE(QTest::qWaitFor([&] { return status().contains("is not installed"); }, 2000))
      << status().toStdString();
}

TEST_F(ShareControlTest, CopiesTheSelectedFindingAsText) {
  open(restartingPositions());
  window.showView("doctor");
  QTest::qWait(20);
  auto* list = window.findChild<QListView*>("cards");
  list->setFocus();
  QApplication::clipboard()->clear();
  QTest::keyClick(list, Qt::Key_C, Qt::ControlModifier);
  const QString by_key = QApplication::clipboard()->text();
  for (const char* part : {"**Evidence.**", "**What to change.**", "ringscope doctor", "run-0"})
    EXPECT_TRUE(by_key.contains(part)) << part << by_key.toStdString();
  QApplication::clipboard()->clear();
  QTest::mouseClick(button("Copy finding"), Qt::LeftButton);
  EXPECT_EQ(QApplication::clipboard()->text(), by_key);
}

}  // namespace
}  // namespace ringscope::viz
