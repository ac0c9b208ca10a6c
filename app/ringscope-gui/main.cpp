// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QCommandLineParser>
#include <QPointer>
#include <QRegularExpression>
#include <QSettings>
#include <QTimer>
#include <algorithm>
#include <iostream>
#include <optional>

#include "app/ringscope-gui/display.h"
#include "app/ringscope-gui/explain.h"
#include "app/ringscope-gui/export.h"
#include "app/version/version.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/remote/remote_connection.h"
#include "traces/format/core/error.h"
#include "traces/format/core/resources.h"
#include "viz/session/problem.h"
#include "viz/window/application.h"
#include "viz/window/main_window.h"

namespace {

using namespace ringscope;

struct Options {
  QString trace, run, screenshot, view = "ring", at, size, theme, explain, output, against, floor,
                                  axis;
  std::optional<traces::ListenOptions> listen;
  std::optional<app::ExportRequest> file;
};

Options listening(const QCommandLineParser& parser) {
  for (const char* other : {"run", "screenshot", "explain", "at", "size", "against", "floor"})
    if (parser.isSet(other))
      throw usageError(std::string("--listen and --") + other + " cannot be combined");
  Options options;
  options.view = parser.value("view");
  options.theme = parser.value("theme");
  options.axis = parser.value("axis");
  options.listen = {parser.positionalArguments().value(0).toStdString(),
                    qgetenv("RINGSCOPE_TOKEN").toStdString(), parser.value("output").toStdString()};
  return options;
}

/// Prints what --help, --version or --list-views ask for, and ends the program.
void printAndLeave(QCommandLineParser& parser) {
  if (parser.isSet("help")) parser.showHelp();
  if (parser.isSet("version")) {
    std::cout << "ringscope-gui " << app::describeVersion() << "\n";
    std::exit(0);
  }
  if (parser.isSet("list-views")) {
    for (const auto& entry : viz::viewRegistry()) std::cout << entry.name.toStdString() << "\n";
    std::exit(0);
  }
}

Options parse(const QApplication& app) {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "The RingScope window. Without a TRACE it starts a live run of the sample model.");
  parser.addPositionalArgument(
      "TRACE",
      "A recording to open, or ssh://HOST/PATH; with --listen: where to listen, a path for a "
      "Unix socket or 127.0.0.1:PORT",
      "[TRACE]");
  parser.addOptions(
      {{"run", "Start a live run as this JSON file says", "CONFIG"},
       {"listen",
        "Follow a PyTorch job that records itself with RINGSCOPE_LIVE; -o names the folder that "
        "gets its recording, else it is a new folder among the window's runs"},
       {"against", "A second recording, for the Compare view", "TRACE2"},
       {"floor", "A second recording of the run of --against. It shows how far equal runs differ",
        "TRACE3"},
       {"screenshot", "Draw into this PNG file and leave; needs no display", "OUT.png"},
       {"view", "The view to show", "NAME", "ring"},
       {"at", "Moment of a screenshot: STEP,LAYER,forward|backward,RINGSTEP[,PHASE]", "POSITION"},
       {"axis", "The Timeline's axis: recorded, or own-device, a model of ranks on own devices",
        "NAME", "recorded"},
       {"size", "Size of a screenshot", "WxH", "1920x1080"},
       {"theme", "dark, light, contrast-dark or contrast-light", "NAME"},
       {"explain",
        "Write the explanation of this mistake as a page, with a picture where TRACE has it; needs "
        "no display",
        "ID"},
       {{"o", "output"}, "The PDF file that --explain writes, or the folder of --listen", "OUT"}});
  parser.addOption({"list-views", "Print the names that --view takes"});
  parser.addOptions(app::exportOptions());
  parser.addOption({"version", "Print the version, the commit and the kind of build"});
  parser.addHelpOption();
  if (!parser.parse(app.arguments())) throw usageError(parser.errorText().toStdString());
  printAndLeave(parser);
  if (parser.positionalArguments().size() > 1) throw usageError("only one trace can be opened");
  Options exported;
  exported.file = app::parseExport(parser);
  if (exported.file) return exported;
  if (parser.isSet("listen")) return listening(parser);
  if (parser.isSet("floor") && !parser.isSet("against"))
    throw usageError("--floor says by how much equal runs differ; name the other run by --against");
  return {parser.positionalArguments().value(0),
          parser.value("run"),
          parser.value("screenshot"),
          parser.value("view"),
          parser.value("at"),
          parser.value("size"),
          parser.value("theme"),
          parser.value("explain"),
          parser.value("output"),
          parser.value("against"),
          parser.value("floor"),
          parser.value("axis")};
}

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

/// Sets the Timeline's axis to the one that --axis names. Throws usageError for unknown names.
void setAxis(const viz::MainWindow& window, const QString& name) {
  if (name != "recorded" && name != "own-device")
    throw usageError("--axis " + name.toStdString() + " is neither recorded nor own-device");
  for (viz::View* view : window.findChildren<viz::View*>())
    view->setOwnDevices(name == "own-device");
}

int takeScreenshot(viz::MainWindow& window, const Options& options, QSize size) {
  const double ratio = window.devicePixelRatioF();
  window.resize((QSizeF(size) / ratio).toSize());
  window.show();
  window.player().setPlaying(false);
  goTo(window.navigator(), options.at);
  QApplication::processEvents();
  QApplication::processEvents();
  while (isMaking(window)) QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  if (!window.grab().save(options.screenshot))
    throw inputError(options.screenshot.toStdString() + " cannot be written");
  return 0;
}

/// Opens the trace, waits for the doctor and the comparison, takes the screenshot and leaves.
int runScreenshot(QApplication& app, viz::MainWindow& window, const Options& options, QSize size) {
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
    finish([&] { return takeScreenshot(window, options, size); });
  };
  QObject::connect(&window.session(), &viz::Session::stateChanged, &app, draw);
  QObject::connect(&window.viewing().comparison, &viz::Comparison::changed, &app, draw);
  window.openTrace(options.trace);
  app.exec();
  return code;
}

/// Returns the path of the program that starts runs; empty if the engine is not installed.
QString commandLineProgram() {
  if (traces::programBeside("ringscope-engine").empty()) return {};
  return QString::fromStdString(traces::programBeside("ringscope"));
}

int run(viz::Application& app, const Options& options) {
  viz::loadFonts();
  if (options.file) return app::exportFile(*options.file);
  if (!options.explain.isEmpty() || !options.output.isEmpty())
    return app::explain(options.explain, options.trace, options.output);
  viz::MainWindow window(commandLineProgram());
  app.show_problem = [open = QPointer(&window)](const QString& problem) {
    if (open) open->showProblem(problem);
  };
  const auto set_theme = [&] {
    if (!options.theme.isEmpty()) window.setTheme(viz::Theme::named(options.theme));
  };
  set_theme();
  window.showView(options.view);
  setAxis(window, options.axis);
  if (!options.against.isEmpty()) window.compareWith(options.against, options.floor);
  if (!options.screenshot.isEmpty()) {
    if (options.trace.isEmpty()) throw usageError("--screenshot needs a TRACE");
    return runScreenshot(app, window, options, parseSize(options.size));
  }
  const viz::RunConfig config =
      options.run.isEmpty() ? viz::RunConfig() : viz::RunConfig::load(options.run);
  QSettings settings;
  window.restoreSettings(settings);
  set_theme();  // applies to this start only
  QObject::connect(&window, &viz::MainWindow::settingsChanged, &window,
                   [&] { window.saveSettings(settings); });
  window.show();
  window.removeOldRuns();
  if (options.listen)
    window.listen(*options.listen);
  else if (options.trace.isEmpty())
    QTimer::singleShot(0, &window, [&] { window.startRun(config); });  // after the first picture
  else
    window.openTrace(options.trace);
  const int code = app.exec();
  traces::endRemoteConnections();  // threads that wait for another machine end
  window.saveSettings(settings);
  return code;
}

/// Selects Qt's offscreen platform for screenshots and pages, which need no display. Large
/// screenshots are drawn at twice the pixel density, as on high-density screens.
void prepareEnvironment(int argc, char** argv) {
  const QStringList arguments(argv, argv + argc);
  const int at = static_cast<int>(arguments.indexOf(
      QRegularExpression("^(-o.*|--((screenshot|explain|output|export-html|export-report|export-"
                         "picture)(=.*)?|list-views|version|help))$")));
  if (at < 0 || (arguments.contains("--listen") && !arguments.contains("--help"))) return;
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const int size = static_cast<int>(arguments.indexOf("--size"));
  if (size > 0 && arguments.value(size + 1).section('x', 0, 0).toInt() >= 3000)
    qputenv("QT_SCALE_FACTOR", "2");
}

}  // namespace

int main(int argc, char** argv) {
  prepareEnvironment(argc, argv);
  std::optional<app::DisplayWatch> watch(std::in_place);
  viz::Application app(argc, argv);
  watch.reset();
  QApplication::setApplicationName("RingScope");
  QApplication::setOrganizationName("RingScope");
  try {
    return run(app, parse(app));
  } catch (const Error& error) {
    std::cerr << "ringscope-gui: " << error.what() << "\n";
    return error.code() == ErrorCode::kRunFailed ? 3 : 2;
  }
}
