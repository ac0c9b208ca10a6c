// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ringscope-gui/screenshot.h"

#include <QElapsedTimer>
#include <algorithm>
#include <iostream>

#include "traces/format/core/error.h"
#include "viz/session/problem.h"

namespace ringscope::app {
namespace {

QSize parseSize(const QString& text) {
  const QStringList parts = text.split('x');
  const QSize size = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
  if (size.width() < 640 || size.height() < 400 || size.width() > 7680 || size.height() > 4320)
    throw usageError("--size " + text.toStdString() + " is not WxH between 640x400 and 7680x4320");
  return size;
}

/// Moves to the moment that --at names, or to the middle of the second recorded ring step without
/// --at.
void goTo(viz::Navigator& navigator, const QString& at) {
  if (at.isEmpty()) return navigator.setMoment(1, 0.55);
  const QStringList parts = at.split(',');
  bool fine = parts.size() >= 4 && (parts[2] == "forward" || parts[2] == "backward");
  viz::Cursor cursor = navigator.cursor();
  viz::Place& place = cursor.place;
  bool a = false, b = false, c = false, d = true;
  if (fine) {
    place.train_step = parts[0].toInt(&a);
    place.layer = traces::Layer::of(parts[1].toInt(&b));
    place.direction =
        parts[2] == "backward" ? traces::Direction::kBackward : traces::Direction::kForward;
    place.stage = traces::RingStep::of(parts[3].toInt(&c));
  }
  const double phase = parts.size() > 4 ? parts[4].toDouble(&d) : 0.55;
  if (!fine || !a || !b || !c || !d)
    throw usageError("--at " + at.toStdString() +
                     " is not STEP,LAYER,forward|backward,RINGSTEP[,PHASE]");
  cursor.phase = phase;
  navigator.setCursor(cursor);
}

/// Reports whether some visible view is still preparing its picture.
bool isMaking(const viz::MainWindow& window) {
  return std::ranges::any_of(window.findChildren<viz::View*>(), &viz::View::isMaking);
}

int savePicture(viz::MainWindow& window, const QString& path) {
  if (!window.grab().save(path)) throw inputError(path.toStdString() + " cannot be written");
  return 0;
}

int drawMoment(viz::MainWindow& window, const ScreenshotRequest& request, QSize size) {
  const double ratio = window.devicePixelRatioF();
  window.resize((QSizeF(size) / ratio).toSize());
  window.show();
  window.player().setPlaying(false);
  goTo(window.navigator(), request.at);
  QApplication::processEvents();
  QApplication::processEvents();
  while (isMaking(window)) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  return savePicture(window, request.output);
}

/// Draws a window without a recording, as soon as the start page has its pictures.
int drawStart(viz::MainWindow& window, const ScreenshotRequest& request, QSize size) {
  constexpr int kMostMs = 10000;
  window.resize((QSizeF(size) / window.devicePixelRatioF()).toSize());
  window.page().showStart(true);
  window.show();
  QElapsedTimer waited;
  waited.start();
  while (!window.page().start()->isDrawn() && waited.elapsed() < kMostMs)
    QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  return savePicture(window, request.output);
}

/// Opens the trace, waits for the doctor and the comparison, takes the screenshot and leaves.
int drawRecording(QApplication& app, viz::MainWindow& window, const ScreenshotRequest& request,
                  QSize size) {
  int code = 2;
  auto finish = [&](auto work) {
    try {
      code = work();
    } catch (...) {
      std::cerr << "ringscope-gui: " << viz::describeProblem(std::current_exception()).toStdString()
                << "\n";
    }
    app.quit();
  };
  QObject::connect(&window, &viz::MainWindow::opened, &app, [&](const QString& failure) {
    if (failure.isEmpty()) return;
    std::cerr << "ringscope-gui: " << failure.toStdString() << "\n";
    app.quit();
  });
  bool drawn = false;
  const auto draw = [&] {
    const auto compared = window.viewing().comparison.state();
    const bool ready = compared == viz::Comparison::State::kNone ||
                       compared == viz::Comparison::State::kDone ||
                       compared == viz::Comparison::State::kFailed;
    if (drawn || !ready || !window.session().diagnosis()) return;
    drawn = true;
    finish([&] { return drawMoment(window, request, size); });
  };
  QObject::connect(&window.session(), &viz::Session::stateChanged, &app, draw);
  QObject::connect(&window.viewing().comparison, &viz::Comparison::changed, &app, draw);
  window.openTrace(request.trace);
  app.exec();
  return code;
}

}  // namespace

int takeScreenshot(QApplication& app, viz::MainWindow& window, const ScreenshotRequest& request) {
  const QSize size = parseSize(request.size);
  return request.trace.isEmpty() ? drawStart(window, request, size)
                                 : drawRecording(app, window, request, size);
}

}  // namespace ringscope::app
