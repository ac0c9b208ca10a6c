// SPDX-License-Identifier: GPL-3.0-or-later
// The cost of a frame: each view is drawn at every tenth of every ring step of a recording.
#include <sys/resource.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QTest>
#include <QWheelEvent>
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "viz/views/pass/pass_painter.h"
#include "viz/views/ring/ring_painter.h"
#include "viz/views/timeline/timeline_view.h"
#include "viz/window/main_window.h"

namespace {

using namespace ringscope;

/// Measures `paint`, which makes the scene and draws it, as a window does.
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

/// Measures one tick of the animation while the ring plays at ×1 and 60 frames per second: the
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

double peakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void turnWheel(QWidget& on, const QPointF& at, int steps, Qt::KeyboardModifiers with) {
  QWheelEvent event(at, on.mapToGlobal(at), {}, {0, 120 * steps}, {}, with, Qt::NoScrollPhase,
                    false);
  QApplication::sendEvent(&on, &event);
}

/// Returns the CPU time of this thread in milliseconds. Other work on the machine affects it least.
double cpuMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Returns "median 3.10, p99 6.20, most 9.00 ms".
std::string spread(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::array<char, 96> words{};
  std::snprintf(words.data(), words.size(), "median %5.2f, p99 %5.2f, most %5.2f ms",
                times[times.size() / 2], times[times.size() * 99 / 100], times.back());
  return words.data();
}

/// Measures frames while the timeline is zoomed and moved: from the whole run to nanoseconds, one
/// turn of the wheel per frame, a move at every zoom, and back again.
void timeline(QSize size, viz::MainWindow& window) {
  window.showView("timeline");
  QApplication::processEvents();
  viz::TimelineView* view = nullptr;
  for (auto* each : window.findChildren<viz::TimelineView*>())
    if (each->isVisible()) view = each;
  QTest::keyClick(view, Qt::Key_F);
  std::vector<double> times, cpu_times;
  int most_shapes = 0;
  QString slowest;
  const auto turn = [&](int steps, Qt::KeyboardModifiers with) {
    QElapsedTimer clock;
    clock.start();
    const double cpu_before = cpuMs();
    turnWheel(*view, QRectF(view->chart().lanes).center() + QPointF(37, 0), steps, with);
    QApplication::sendPostedEvents();
    QApplication::processEvents();
    times.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
    const double cpu = cpuMs() - cpu_before;
    if (cpu_times.empty() || cpu > *std::ranges::max_element(cpu_times))
      slowest = QString("%1 shapes over %2 µs")
                    .arg(view->primitives())
                    .arg(view->scene().window.length() / 1000);
    cpu_times.push_back(cpu);
    most_shapes = std::max(most_shapes, view->primitives());
  };
  for (const int way : {1, -1})
    for (int zoom = 0; zoom < 110; ++zoom) {
      turn(way, {});
      for (const int aside : {1, 1, -1, -1}) turn(aside, Qt::ShiftModifier);
    }
  std::printf("timeline %dx%d: %s; CPU: %s (%s); %zu lanes of %zu events, at most %d shapes\n",
              size.width(), size.height(), spread(times).c_str(), spread(cpu_times).c_str(),
              qPrintable(slowest), view->chart().rows.size(), view->scene().tracks->spans,
              most_shapes);
}

/// Opens the recording as the window does. Measures the time until there is a picture, and until
/// all events are on the lanes.
void openInWindow(const QString& path, viz::MainWindow& window) {
  QElapsedTimer clock;
  clock.start();
  bool opened = false;
  QObject::connect(&window, &viz::MainWindow::opened, &window, [&] { opened = true; });
  window.showView("timeline");
  window.openTrace(path);
  while (!opened) QApplication::processEvents(QEventLoop::AllEvents, 5);
  window.player().setPlaying(false);
  window.grab();
  std::printf("first picture of the timeline after %lld ms, peak %.0f MiB\n",
              static_cast<long long>(clock.elapsed()), peakMiB());
  while (window.session().tracksRead() < 1) QApplication::processEvents(QEventLoop::AllEvents, 5);
  window.grab();
  std::printf("all of it after %lld ms, peak %.0f MiB\n", static_cast<long long>(clock.elapsed()),
              peakMiB());
}

void benchTimeline(const char* path) {
  viz::MainWindow window{QString()};
  window.resize(1920, 1080);
  window.show();
  openInWindow(path, window);
  for (const QSize size : {QSize(1920, 1080), QSize(3840, 2160)}) {
    window.resize(size);
    QApplication::processEvents();
    timeline(size, window);
  }
  QElapsedTimer clock;
  clock.start();
  while (!window.session().diagnosis()) QApplication::processEvents(QEventLoop::AllEvents, 5);
  std::printf("the doctor was waited for for %lld ms; peak %.0f MiB, the file %.0f MiB\n",
              static_cast<long long>(clock.elapsed()), peakMiB(),
              static_cast<double>(QFileInfo(path).size()) / (1 << 20));
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  viz::loadFonts();
  const bool only_timeline = argc == 3 && std::string(argv[2]) == "timeline";
  if (argc != 2 && !only_timeline) {
    std::fprintf(stderr, "usage: bench_paint TRACE [timeline]\n");
    return 2;
  }
  try {
    if (only_timeline) return benchTimeline(argv[1]), 0;
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
        viz::paintPass(p, area, viz::makePassScene(session.trace(), cursor()), theme);
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
