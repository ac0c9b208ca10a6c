// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ringscope-gui/export.h"

#include <QFileInfo>
#include <iostream>
#include <nlohmann/json.hpp>

#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/report/finding_place.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "viz/share/picture_file.h"
#include "viz/share/report_file.h"
#include "viz/share/share_page.h"

namespace ringscope::app {
namespace {

using Counts = std::vector<std::pair<const char*, std::int64_t>>;

/// Prints what was written, as `ringscope export` prints it for other formats.
void printWritten(const ExportRequest& request, const Counts& counts,
                  const std::vector<std::string>& left_out) {
  const std::string output = request.output.toStdString();
  if (request.json) {
    nlohmann::json json = {{"file", traces::toUtf8(output)}, {"left_out", left_out}};
    for (const auto& [noun, count] : counts) json["counts"][noun] = count;
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return;
  }
  for (const std::string& sentence : left_out) std::cerr << "note: " << sentence << "\n";
  std::string said;
  for (const auto& [noun, count] : counts) said += ", " + traces::describeCount(count) + " " + noun;
  std::cout << "exported: " << output << said << "\n";
}

viz::ShareChoice choiceFrom(const ExportRequest& request) {
  viz::ShareChoice choice{request.views, {}, {}};
  if (!request.from.isEmpty())
    choice.from = traces::parsePosition(request.from.toStdString(), "--from");
  if (!request.until.isEmpty())
    choice.until = traces::parsePosition(request.until.toStdString(), "--until");
  return choice;
}

}  // namespace

QList<QCommandLineOption> exportOptions() {
  return {
      {"export-html",
       "Write a page with the findings and a player of the views, for any browser, and leave; "
       "needs no display. --view takes a list: ring,merge",
       "OUT.html"},
      {"export-report",
       "Write a report of the findings as Markdown, or as PDF if the name ends in .pdf, and "
       "leave; needs no display",
       "OUT"},
      {"export-picture",
       "Draw one --view at --from into this .svg, .pdf or .png file and leave; needs no display",
       "OUT"},
      {"from", "First ring step of an export: STEP,LAYER,forward|backward,RINGSTEP", "POSITION"},
      {"until", "Last ring step of --export-html", "POSITION"},
      {"json", "Print what an export wrote as JSON"}};
}

std::optional<ExportRequest> parseExport(const QCommandLineParser& parser) {
  QStringList asked;
  for (const char* option : {"export-html", "export-report", "export-picture"})
    if (parser.isSet(option)) asked.append(option);
  if (asked.isEmpty()) {
    for (const char* option : {"from", "until", "json"})
      if (parser.isSet(option))
        throw usageError("--" + std::string(option) + " needs an export, such as --export-html");
    return std::nullopt;
  }
  const std::string own = "--" + asked.first().toStdString();
  if (asked.size() > 1)
    throw usageError(own + " is one command, --" + asked[1].toStdString() + " another");
  for (const char* other : {"run", "screenshot", "explain", "listen", "against", "at", "output"})
    if (parser.isSet(other)) throw usageError(own + " and --" + other + " cannot be combined");
  if (parser.positionalArguments().isEmpty()) throw usageError(own + " needs a TRACE");
  ExportRequest request{asked.first(),
                        parser.value(asked.first()),
                        parser.positionalArguments().first(),
                        {},
                        parser.value("from"),
                        parser.value("until"),
                        parser.value("theme"),
                        parser.isSet("json")};
  if (parser.isSet("view")) request.views = parser.value("view").split(',', Qt::SkipEmptyParts);
  const bool page = request.option == "export-html", report = request.option == "export-report";
  if (report && (!request.views.isEmpty() || !request.from.isEmpty()))
    throw usageError("a report has no --view and no --from: every finding has its own");
  if ((page || report) && !request.theme.isEmpty())
    throw usageError("--theme is for pictures; a page has a button for it");
  if (!page && !request.until.isEmpty()) throw usageError("--until is for --export-html");
  return request;
}

int exportFile(const ExportRequest& request) {
  const std::string recording = request.trace.toStdString();
  const std::string output = request.output.toStdString();
  traces::checkOutputs({{"TRACE", recording}}, {{"--output", output}});
  const viz::ShareChoice choice = choiceFrom(request);
  viz::Session session;
  session.open(traces::openTrace(recording), QFileInfo(request.trace).fileName(), false);
  session.setDiagnosis(traces::diagnose(session.trace()));
  if (request.option == "export-report") {
    const auto written = viz::writeReport(session, recording, output);
    printWritten(request, {{"findings", written.findings}, {"pictures", written.pictures}}, {});
  } else if (request.option == "export-picture") {
    if (request.views.size() > 1) throw usageError("a picture shows one --view");
    viz::writePicture(session,
                      {request.views.value(0, "ring"), choice.from,
                       request.theme.isEmpty() ? "light" : request.theme},
                      output);
    printWritten(request, {{"bytes", QFileInfo(request.output).size()}}, {});
  } else {
    const auto page = viz::writeSharedPage(session, recording, choice, output, [] { return true; });
    printWritten(request,
                 {{"views", page.views},
                  {"ring steps", page.ring_steps},
                  {"frames", page.frames},
                  {"bytes", page.bytes}},
                 page.left_out);
  }
  return 0;
}

}  // namespace ringscope::app
