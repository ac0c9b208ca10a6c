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
#include "viz/paint/ring_painter.h"
#include "viz/paint/timeline_painter.h"
#include "viz/window/main_window.h"

namespace {

using namespace ringscope;

/// `paint` has the scene made and draws it, as a window does.
void measure(const char* what, QSize size, viz::Viewing& viewing,
             const std::function<void(QPainter&, const QRectF&)>& paint) {
  QImage image(size, QImage::Format_ARGB32_Premultiplied);
  std::vector<double> times;
  const int moments = std::min<int>(60, static_cast<int>(viewing.session.trace().moments().size()));
  for (int moment = 0; moment < moments; ++moment)
    for (int tenth = 0; tenth < 10; ++tenth) {
      viewing.navigator.setMoment(moment, tenth / 10.0);
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

/// What one tick of the animation costs while the ring plays at ×1 and 60 frames a second: the
/// cursor, the scene, and what Qt repaints of it.
void play(QSize size, viz::MainWindow& window) {
  constexpr int kFrames = 1500;
  std::vector<double> times;
  window.navigator().setMoment(0, 0);
  window.player().setPlaying(true);
  QApplication::processEvents();
  for (int frame = 0; frame < kFrames && window.player().playing(); ++frame) {
    QElapsedTimer clock;
    clock.start();
    window.player().advance(1.0 / 60);
    QApplication::sendPostedEvents();
    QApplication::processEvents();
    times.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
  }
  window.player().setPlaying(false);
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
    viz::Viewing viewing;
    viewing.session.open(traces::openTrace(argv[1]), "trace", false);
    const viz::Session& session = viewing.session;
    const auto cursor = [&] { return viewing.navigator.cursor(); };
    const viz::Theme& theme = viz::Theme::all().front();
    for (const int scale : {1, 2}) {
      measure("ring", QSize(1350, 560) * scale, viewing, [&](QPainter& p, const QRectF& area) {
        viz::paintRing(p, area, *session.ring(cursor()), cursor().phase, theme);
      });
      measure("timeline", QSize(1920, 190) * scale, viewing, [&](QPainter& p, const QRectF& area) {
        viz::paintTimeline(p, area, viz::makeTimelineScene(session.trace(), cursor()), theme);
      });
    }
    viz::MainWindow window{QString()};
    window.session().open(traces::openTrace(argv[1]), "trace", false);
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
