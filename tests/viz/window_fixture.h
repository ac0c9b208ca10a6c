// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSet>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/files.h"
#include "tests/viz/recorded_ring.h"
#include "traces/exchange/import/open_trace.h"
#include "viz/window/main_window.h"

namespace ringscope::viz {

/// Returns the number of colours of a picture; a blank one has one or two.
inline int distinctColors(const QImage& image) {
  QSet<QRgb> colors;
  for (int y = 0; y < image.height(); y += 2)
    for (int x = 0; x < image.width(); x += 2) colors << image.pixel(x, y);
  return static_cast<int>(colors.size());
}

using State = EngineLink::State;

/// Returns a run whose position ids restart on every rank.
inline test::RingRun restartingPositions() {
  test::RingRun run;
  run.restarts_positions = true;
  return run;
}

/// The real window, driven by real mouse and key events, offscreen or under Xvfb.
class WindowTest : public testing::Test {
 protected:
  WindowTest() : window(test::kProgram) {
    window.resize(1280, 800);
    window.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&window));
    QApplication::setActiveWindow(&window);  // Xvfb has no window manager that would do it
#ifdef RINGSCOPE_TEST_WITHOUT_ENGINE
    // The builds with sanitizers have no engine.
    QObject::connect(&window.engine(), &EngineLink::started, &window, [] {
      ADD_FAILURE() << "a test that runs the engine belongs into test_live_window";
    });
#endif
  }
  void openFile(const std::string& path) {
    QSignalSpy opened(&window, &MainWindow::opened);
    window.openTrace(QString::fromStdString(path));
    ASSERT_TRUE(opened.wait(10000));
    ASSERT_EQ(opened.first().first().toString(), "");
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 10000));
    window.player().setPlaying(false);
  }
  /// Opens a recording that needs no engine.
  void open(const test::RingRun& run = {}, const std::string& sealed = "") {
    const std::string path = dir.file("run-" + std::to_string(recordings_++) + ".rscope");
    test::recordFile(run, path, sealed);
    openFile(path);
  }
  QPushButton* button(const QString& text) {
    for (auto* b : window.findChildren<QPushButton*>())
      if (b->text() == text) return b;
    return nullptr;
  }
  QComboBox* choice(const QString& name) {
    for (auto* box : window.findChildren<QComboBox*>())
      if (box->accessibleName() == name) return box;
    return nullptr;
  }
  QString status() {
    QStringList all;
    for (auto* label : window.findChildren<QLabel*>()) all << label->text();
    return all.join("\n");
  }

  test::TempDir dir;
  MainWindow window;

 private:
  int recordings_ = 0;
};

}  // namespace ringscope::viz
