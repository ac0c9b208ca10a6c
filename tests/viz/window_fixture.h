// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QPushButton>
#include <QSet>
#include <QSignalSpy>
#include <QTest>

#include "tests/support/files.h"
#include "tests/viz/sample_trace.h"
#include "viz/window/main_window.h"

namespace ringscope::viz {

using State = EngineLink::State;

/// How many colours a picture has; a blank one has one or two.
inline int distinctColors(const QImage& image) {
  QSet<QRgb> colors;
  for (int y = 0; y < image.height(); y += 2)
    for (int x = 0; x < image.width(); x += 2) colors << image.pixel(x, y);
  return static_cast<int>(colors.size());
}

/// The real window, driven by real mouse and key events, offscreen or under Xvfb.
class WindowTest : public testing::Test {
 protected:
  WindowTest() : window(RINGSCOPE_PROGRAM) {
    window.resize(1280, 800);
    window.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&window));
    QApplication::setActiveWindow(&window);  // Xvfb has no window manager that would do it
  }
  void open(const std::vector<std::string>& mistakes = {}) {
    QSignalSpy opened(&window, &MainWindow::opened);
    window.openTrace(QString::fromStdString(test::sampleTraceFile(4, mistakes)));
    ASSERT_TRUE(opened.wait(10000));
    ASSERT_EQ(opened.first().first().toString(), "");
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.hub().diagnosis().has_value(); }, 10000));
    window.hub().setPlaying(false);
  }
  RunConfig longRun() {
    RunConfig config;
    config.text = {QString::fromStdString(test::sampleText())};
    config.steps = 1000;
    config.seq_len = 64;
    config.trace = QString::fromStdString(dir.file("live.rscope"));
    return config;
  }
  bool runs() {
    return QTest::qWaitFor(
        [&] {
          return window.engine().state() == State::kRunning &&
                 window.hub().trace().moments().size() > 20;
        },
        20000);
  }
  /// A live run of the sample, with the engine's answer to everything.
  void runLive() {
    window.startRun(longRun());
    ASSERT_TRUE(runs()) << status().toStdString();
  }
  void pause() {
    QTest::mouseClick(button("Pause"), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.engine().state() == State::kPaused; }, 20000));
  }
  QPushButton* button(const QString& text) {
    for (auto* b : window.findChildren<QPushButton*>())
      if (b->text() == text) return b;
    return nullptr;
  }
  QString status() {
    QStringList all;
    for (auto* label : window.findChildren<QLabel*>()) all << label->text();
    return all.join("\n");
  }

  test::TempDir dir;
  MainWindow window;
};

}  // namespace ringscope::viz
