// SPDX-License-Identifier: GPL-3.0-or-later
// What a frame costs: each view drawn at every tenth of every ring step of a recording.
#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QPainter>
#include <algorithm>
#include <cstdio>
#include <functional>

#include "traces/core/error.h"
#include "viz/views/ring_painter.h"
#include "viz/views/timeline_painter.h"
#include "viz/window/main_window.h"

namespace {

using namespace ringscope;

void measure(const char* what, QSize size, viz::Hub& hub,
             const std::function<void(QPainter&, const QRectF&)>& paint) {
  QImage image(size, QImage::Format_ARGB32_Premultiplied);
  std::vector<double> times;
  const int moments = std::min<int>(60, static_cast<int>(hub.trace().moments().size()));
  for (int moment = 0; moment < moments; ++moment)
    for (int tenth = 0; tenth < 10; ++tenth) {
      hub.setMoment(moment, tenth / 10.0);
      QElapsedTimer clock;
      clock.start();
      QPainter painter(&image);
      paint(painter, QRectF(QPointF(0, 0), QSizeF(size)));
      painter.end();
      times.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
    }
  std::sort(times.begin(), times.end());
  std::printf("%-10s %4dx%-4d median %6.2f ms, p99 %6.2f ms\n", what, size.width(), size.height(),
              times[times.size() / 2], times[times.size() * 99 / 100]);
}

/// What one tick of the animation costs while the ring plays at ×1 and 60 frames a second: the hub,
/// the scene, and what Qt repaints of it.
void play(QSize size, viz::MainWindow& window) {
  constexpr int kFrames = 1500;
  std::vector<double> times;
  window.hub().setMoment(0, 0);
  window.hub().setPlaying(true);
  QApplication::processEvents();
  for (int frame = 0; frame < kFrames && window.hub().playing(); ++frame) {
    QElapsedTimer clock;
    clock.start();
    window.hub().advance(1.0 / 60);
    QApplication::sendPostedEvents();
    QApplication::processEvents();
    times.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
  }
  window.hub().setPlaying(false);
  std::sort(times.begin(), times.end());
  std::printf("%-10s %4dx%-4d median %6.2f ms, p99 %6.2f ms, most %6.2f ms\n", "playing",
              size.width(), size.height(), times[times.size() / 2], times[times.size() * 99 / 100],
              times.back());
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  viz::loadFonts();
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_paint TRACE\n");
    return 2;
  }
  try {
    viz::Hub hub;
    hub.setTrace(traces::openTrace(argv[1]), "trace", false);
    const viz::Theme& theme = viz::Theme::all().front();
    for (const int scale : {1, 2}) {
      measure("ring", QSize(1350, 560) * scale, hub,
              [&](QPainter& p, const QRectF& area) { viz::paintRing(p, area, hub, theme); });
      measure("timeline", QSize(1920, 190) * scale, hub,
              [&](QPainter& p, const QRectF& area) { viz::paintTimeline(p, area, hub, theme); });
    }
    viz::MainWindow window{QString()};
    window.hub().setTrace(traces::openTrace(argv[1]), "trace", false);
    for (const QSize size : {QSize(1920, 1080), QSize(3840, 2160)}) {
      window.resize(size);
      window.show();
      QApplication::processEvents();
      play(size, window);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_paint: %s\n", error.what());
    return 2;
  }
}
