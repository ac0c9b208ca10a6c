// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolButton>

#include "tests/viz/window_fixture.h"

namespace ringscope::viz {

/// A window that shows its start page, with its pictures drawn.
class StartPageTest : public WindowTest {
 protected:
  StartPageTest() {
    window.resize(1280, 720);
    window.page().showStart(true);
    EXPECT_TRUE(QTest::qWaitFor([&] { return start().isDrawn(); }, 10000));
    QCoreApplication::processEvents();
  }
  StartPage& start() { return *window.page().start(); }
  QToolButton* tool(const QString& text) {
    for (auto* b : start().findChildren<QToolButton*>())
      if (b->text() == text) return b;
    return nullptr;
  }
};

}  // namespace ringscope::viz
