// SPDX-License-Identifier: GPL-3.0-or-later
// Save as: the copy that the user asks for.
#include <QFileDialog>
#include <QLineEdit>
#include <QListView>

#include "tests/viz/own_runs.h"
#include "tests/viz/window_fixture.h"
#include "traces/exchange/import/open_trace.h"
#include "viz/window/save_control.h"

namespace ringscope::viz {
namespace {

class SaveTest : public OwnRuns, public WindowTest {
 protected:
  /// Presses the key, and enters a name in the file dialog that opens.
  void saveAs(const QString& path) {
    QTimer::singleShot(200, &window, [path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      dialog->findChild<QLineEdit*>()->setText(path);
      QMetaObject::invokeMethod(dialog, "accept");
    });
    QTest::keyClick(&window, Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
    QApplication::setActiveWindow(&window);
  }
  bool says(const QString& words) {
    return QTest::qWaitFor([&] { return status().contains(words); }, 10000);
  }
};

TEST_F(SaveTest, CtrlShiftSSavesACopyThatTheHistoryLists) {
  QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  open();
  const QString copy = QString::fromStdString(dir.file("mine.rscope"));
  saveAs(copy);
  ASSERT_TRUE(says("Saved " + copy)) << status().toStdString();
  EXPECT_FALSE(traces::openTrace(copy.toStdString())->moments().empty());
  QTest::keyClick(&window, Qt::Key_H, Qt::ControlModifier);
  auto* rows = window.page().history()->findChild<QListView*>()->model();
  QStringList names;
  for (int row = 0; row < rows->rowCount(); ++row) names << rows->index(row, 0).data().toString();
  EXPECT_TRUE(names.contains("mine.rscope")) << names.join(", ").toStdString();
}

TEST_F(SaveTest, ACopyThatCannotBeWrittenIsAProblemInTheStatusLine) {
  QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
  open();
  window.findChild<SaveControl*>()->begin(window.session().path(), window.session().path());
  EXPECT_TRUE(says("would overwrite the recording itself")) << status().toStdString();
  EXPECT_FALSE(window.findChild<SaveControl*>()->isBusy());
}

TEST_F(SaveTest, WithoutARecordingTheStatusLineSaysWhatIsMissing) {
  QTest::keyClick(&window, Qt::Key_S, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(says("A recording can be saved once it is open and whole"));
}

}  // namespace
}  // namespace ringscope::viz
