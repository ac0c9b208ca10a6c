// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>
#include <QTimer>

#include "tests/viz/window_fixture.h"
#include "traces/exchange/import/open_trace.h"

namespace ringscope::viz {

/// A window without an engine, so that every button can be pressed.
class ControlTest : public testing::Test {
 protected:
  ControlTest() : window("") {
    window.resize(1440, 800);
    window.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&window));
    QApplication::setActiveWindow(&window);  // Xvfb has no window manager that would do it
    test::recordFile({}, dir.file("run.rscope"), "");
    QSignalSpy opened(&window, &MainWindow::opened);
    window.openTrace(QString::fromStdString(dir.file("run.rscope")));
    EXPECT_TRUE(opened.wait(10000));
    EXPECT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 10000));
    closer_.callOnTimeout([] {
      if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
      if (QWidget* dialog = QApplication::activeModalWidget()) dialog->close();
    });
    closer_.start(20);  // closes whatever a press opens
  }

  static std::string called(const QWidget* control) {
    const auto* b = qobject_cast<const QAbstractButton*>(control);
    return std::string(control->metaObject()->className()) + " " +
           (b ? b->text() : control->accessibleName()).toStdString();
  }
  template <typename Box>
  Box* boxNamed(const QString& name) {
    for (auto* box : window.findChildren<Box*>())
      if (box->accessibleName() == name) return box;
    return nullptr;
  }

  test::TempDir dir;
  MainWindow window;
  QTimer closer_;
};

}  // namespace ringscope::viz
