// SPDX-License-Identifier: GPL-3.0-or-later
// Export from the window, through the menu and the file dialog that a user sees.
#include "viz/window/export_button.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QTimer>
#include <nlohmann/json.hpp>

#include "tests/support/run_program.h"
#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class ExportButtonTest : public WindowTest {
 protected:
  ExportButton* exporter() { return window.findChild<ExportButton*>(); }
  /// Presses Ctrl+E, moves down `entry` entries and presses Return; then enters the path in the
  /// dialog and presses Return.
  void exportAs(int entry, const QString& path) {
    QTest::keyClick(&window, Qt::Key_E, Qt::ControlModifier);
    auto* menu = exporter()->findChild<QMenu*>();
    ASSERT_TRUE(QTest::qWaitFor([&] { return menu->isVisible(); }, 2000));
    answer(path, 100);
    for (int i = 0; i <= entry; ++i) QTest::keyClick(menu, Qt::Key_Down);
    QTest::keyClick(menu, Qt::Key_Return);
  }

 private:
  /// Gives a user's answers: the path, and that a file may be replaced. A dialog opens another one
  /// during this call, so each answer is given by a timer of its own.
  void answer(const QString& path, int times) {
    QTimer::singleShot(50, &window, [this, path, times] {
      if (times > 0) answer(path, times - 1);
      auto* on_top = QApplication::activeModalWidget();
      if (auto* question = qobject_cast<QMessageBox*>(on_top))
        return question->button(QMessageBox::Yes)->click();
      auto* dialog = qobject_cast<QFileDialog*>(on_top);
      if (!dialog) return;
      auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
      name->setText(path);
      QTest::keyClick(name, Qt::Key_Return);
    });
  }
};

TEST_F(ExportButtonTest, WritesTheOpenedRecordingAndSaysHowMuch) {
  open();
  const QString path = QString::fromStdString(dir.file("out.json"));
  exportAs(1, path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return status().contains("exported: "); }, 10000))
      << status().toStdString();
  const auto written = nlohmann::json::parse(test::readContent(path.toStdString()));
  std::int64_t spans = 0;
  for (const auto& event : written.at("traceEvents")) spans += event.at("ph") == "X";
  EXPECT_EQ(spans, window.session().trace().eventCount());
  EXPECT_EQ(exporter()->text(), "Export …");
}

TEST_F(ExportButtonTest, TheRecordingItselfIsNotReplaced) {
  open();
  const std::string recording = dir.file("run-0.rscope"), before = test::readContent(recording);
  exportAs(2, QString::fromStdString(recording));
  ASSERT_TRUE(QTest::qWaitFor([&] { return status().contains("is the same file"); }, 10000))
      << status().toStdString();
  EXPECT_EQ(test::readContent(recording), before);
  EXPECT_TRUE(exporter()->isEnabled());
}

TEST_F(ExportButtonTest, IsOffWhereNothingIsOpen) {
  EXPECT_FALSE(exporter()->isEnabled());
  EXPECT_NE(exporter()->toolTip(), "");
  open();
  EXPECT_TRUE(exporter()->isEnabled());
}

}  // namespace
}  // namespace ringscope::viz
