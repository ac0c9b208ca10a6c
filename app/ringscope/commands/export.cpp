// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/command_line/command.h"
#include "app/ringscope/become.h"
#include "traces/analysis/report/markdown.h"
#include "traces/analysis/report/summary.h"
#include "traces/exchange/export/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/resources.h"
#include "traces/format/core/utf8.h"
#include "traces/format/schema/names.h"

namespace ringscope::app {
namespace {

struct ExportOptions {
  std::string trace, to, output, views, from, until, theme;
  bool json = false;
};

std::string formatsHelp() {
  std::string text = "What to write:";
  for (const auto& format : traces::exportFormats())
    text += std::string("\n") + format.name + ": " + format.says;
  text += "\nhtml: one page with the findings and a player of the views, for any browser";
  text += "\nreport: the findings as Markdown, or as PDF if the name of OUT ends in .pdf";
  return text + "\nsvg, png, pdf: one view as a picture";
}

void print(const ExportOptions& o, const traces::Exported& exported) {
  if (o.json) {
    nlohmann::json json = {{"file", traces::toUtf8(o.output)}, {"left_out", exported.left_out}};
    for (const auto& [what, count] : exported.counts) json["counts"][what] = count;
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return;
  }
  for (const std::string& sentence : exported.left_out) std::cerr << "note: " << sentence << "\n";
  std::string said;
  for (const auto& [what, count] : exported.counts)
    said += (said.empty() ? "" : ", ") + traces::describeCount(count) + " " + what;
  std::cout << "exported: " << o.output << ", " << said << "\n";
}

constexpr const char* kPictures[] = {"svg", "png", "pdf"};

bool isPicture(const std::string& format) {
  return std::ranges::find(kPictures, format) != std::end(kPictures);
}

bool isDrawn(const std::string& format) {
  return format == "html" || format == "report" || isPicture(format);
}

/// Lets the window's program draw the file, without a display.
[[noreturn]] void draw(const ExportOptions& o) {
  std::vector<std::string> arguments{"--export-" + (isPicture(o.to) ? "picture" : o.to) + "=" +
                                     o.output};
  for (const auto& [option, value] : {std::pair("--view=", o.views),
                                      {"--from=", o.from},
                                      {"--until=", o.until},
                                      {"--theme=", o.theme}})
    if (!value.empty()) arguments.push_back(option + value);
  if (o.json) arguments.emplace_back("--json");
  arguments.insert(arguments.end(), {"--", o.trace});
  becomeWindow(arguments);
}

/// Writes a report without pictures, which needs no window.
void writePlainReport(const ExportOptions& o) {
  traces::checkOutputs({{"TRACE", o.trace}}, {{"--output", o.output}});
  const auto trace = traces::openTrace(o.trace);
  const traces::Report report{o.trace,
                              traces::summaryLines(*trace, traces::summarize(*trace, o.trace)),
                              traces::diagnose(*trace),
                              {}};
  traces::OutputFile file(o.output);
  file.stream() << traces::toMarkdown(report);
  file.finish();
  const auto findings = static_cast<std::int64_t>(report.diagnosis.findings().size());
  print(o, {{{"findings", findings}, {"pictures", 0}},
            {"the report has no pictures, because the window is not installed"}});
}

void runDrawn(const ExportOptions& o) {
  if (isPicture(o.to) && !o.output.ends_with("." + o.to))
    throw usageError("--to " + o.to + " needs a name of OUT that ends in ." + o.to);
  if (!traces::programBeside("ringscope-gui").empty()) draw(o);
  if (o.to == "report" && !o.output.ends_with(".pdf")) return writePlainReport(o);
  throw usageError("--to " + o.to +
                   " draws with the window's program ringscope-gui, which is not installed beside "
                   "this program; install it by pip install 'ringscope[gui]', or build it with "
                   "-DRINGSCOPE_GUI=ON");
}

/// Throws usageError that lists all formats when there is no such format.
void checkFormat(const std::string& format) {
  std::vector<std::string> known;
  for (const auto& each : traces::exportFormats()) known.emplace_back(each.name);
  known.insert(known.end(), {"html", "report"});
  known.insert(known.end(), std::begin(kPictures), std::end(kPictures));
  if (std::ranges::find(known, format) == known.end())
    throw usageError(traces::unknownName("format", format, known));
}

void run(const ExportOptions& o) {
  checkFormat(o.to);
  if (isDrawn(o.to)) return runDrawn(o);
  if (!o.views.empty() || !o.from.empty() || !o.until.empty() || !o.theme.empty())
    throw usageError("--view, --from, --until and --theme are for pages and pictures");
  print(o, traces::exportTrace(o.trace, o.to, o.output));
}

}  // namespace

void defineExport(CLI::App& command, int&) {
  auto o = std::make_shared<ExportOptions>();
  command.add_option("TRACE", o->trace, "A recording of any format that info can open")->required();
  command.add_option("--to", o->to, formatsHelp())->required()->type_name("FORMAT");
  command.add_option("-o,--output", o->output, "The file to write")->required();
  command
      .add_option("--view", o->views,
                  "The view of a picture (default: ring), or a list of views for html (default: "
                  "ring,coverage,positions,merge,timeline,diff,memory,curves)")
      ->type_name("NAME[,NAME…]");
  command
      .add_option(
          "--from", o->from,
          "The ring step of a picture, or the first one for html, as "
          "STEP,LAYER,forward|backward,RINGSTEP (default: that of the first finding, or the "
          "first one)")
      ->type_name("POSITION");
  command
      .add_option("--until", o->until,
                  "The last ring step for html (default: at most 64 ring steps are shown)")
      ->type_name("POSITION");
  command
      .add_option("--theme", o->theme,
                  "The theme of a picture: dark, light, contrast-dark or contrast-light (default: "
                  "light)")
      ->type_name("NAME");
  command.add_flag("--json", o->json, "Print what was written as JSON");
  command.callback([=] { run(*o); });
}

}  // namespace ringscope::app
