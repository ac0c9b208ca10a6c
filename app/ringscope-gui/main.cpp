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
#include "app/ringscope-gui/screenshot.h"
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
  bool sample = false;
  QString trace, run, screenshot, view = "ring", at, size, theme, explain, output, against, floor,
                                  axis;
  std::optional<traces::ListenOptions> listen;
  std::optional<app::ExportRequest> file;

  /// Reports whether the window begins without a recording and without a run.
  bool isEmpty() const { return !sample && !listen && trace.isEmpty() && run.isEmpty(); }
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

QList<QCommandLineOption> windowOptions() {
  return {
      {"run", "Start a live run as this JSON file says", "CONFIG"},
      {"sample", "Start a live run of the sample model"},
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
      {{"o", "output"}, "The PDF file that --explain writes, or the folder of --listen", "OUT"}};
}

Options parse(const QApplication& app) {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "The RingScope window. Without a TRACE it offers to explore the sample model, to debug a "
      "job, or "
      "to teach.");
  parser.addPositionalArgument(
      "TRACE",
      "A recording to open, or ssh://HOST/PATH; with --listen: where to listen, a path for a "
      "Unix socket or 127.0.0.1:PORT",
      "[TRACE]");
  parser.addOptions(windowOptions());
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
  const bool runs = parser.isSet("sample");
  if (runs && (parser.isSet("run") || !parser.positionalArguments().isEmpty()))
    throw usageError("--sample starts a run by itself, without a TRACE and without --run");
  return {runs,
          parser.positionalArguments().value(0),
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

/// Sets the Timeline's axis to the one that --axis names. Throws usageError for unknown names.
void setAxis(const viz::MainWindow& window, const QString& name) {
  if (name != "recorded" && name != "own-device")
    throw usageError("--axis " + name.toStdString() + " is neither recorded nor own-device");
  for (viz::View* view : window.findChildren<viz::View*>())
    view->setOwnDevices(name == "own-device");
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
    if (open) open->page().status()->setProblem(problem);
  };
  const auto set_theme = [&] {
    if (!options.theme.isEmpty()) window.setTheme(viz::Theme::named(options.theme));
  };
  set_theme();
  window.showView(options.view);
  setAxis(window, options.axis);
  if (!options.against.isEmpty()) window.compareWith(options.against, options.floor);
  window.history().setRemembering(options.screenshot.isEmpty());
  if (!options.screenshot.isEmpty())
    return app::takeScreenshot(app, window,
                               {options.trace, options.screenshot, options.at, options.size});
  const viz::RunConfig config =
      options.run.isEmpty() ? viz::RunConfig() : viz::RunConfig::load(options.run);
  QSettings settings;
  window.restoreSettings(settings);
  set_theme();  // applies to this start only
  QObject::connect(&window, &viz::MainWindow::settingsChanged, &window,
                   [&] { window.saveSettings(settings); });
  if (options.isEmpty()) window.page().showStart(true);
  window.show();
  window.removeOldRuns();
  if (options.listen)
    window.listen(*options.listen);
  else if (!options.trace.isEmpty())
    window.openTrace(options.trace);
  else if (options.sample || !options.run.isEmpty())
    QTimer::singleShot(0, &window, [&] { window.startRun(config); });  // after the first picture
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
