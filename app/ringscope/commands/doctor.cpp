// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <sstream>

#include "app/command_line/command.h"
#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/doctor/reports/baseline.h"
#include "traces/analysis/doctor/reports/junit.h"
#include "traces/analysis/doctor/reports/sarif.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/output_file.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/lacks.h"

namespace ringscope::app {
namespace {

struct DoctorOptions {
  std::string trace, sarif, junit, baseline;
  bool json = false;
  bool strict = false;
  std::string strict_list;                ///< as it was given, with commas
  std::vector<std::string> strict_rules;  ///< that must judge; empty: all that apply
};

void write(const std::string& path, const std::string& text) {
  traces::OutputFile file(path);
  file.stream() << text;
  file.finish();
}

/// Returns indented JSON. Replaces bytes of paths and names that are not UTF-8.
std::string dumped(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// The findings that a baseline accepts, and the accepted ones that are gone.
struct Known {
  std::vector<std::string> accepted, gone;
};

Known knownOf(const traces::Diagnosis& diagnosis, const traces::Baseline& baseline) {
  Known known{{}, baseline.gone(diagnosis)};
  for (const traces::Finding& finding : diagnosis.findings())
    if (baseline.accepts(finding)) known.accepted.push_back(traces::Baseline::identityFor(finding));
  return known;
}

std::string list(const std::string& title, const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : title + ":\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

std::string asText(const traces::Diagnosis& diagnosis, const Known& known,
                   const std::string& baseline, const std::vector<std::string>& not_made) {
  const auto found = static_cast<std::int64_t>(diagnosis.findings().size());
  return traces::toText(diagnosis) +
         list(std::to_string(known.accepted.size()) + " of " +
                  traces::describeCount(found, "finding") + " known to " + baseline,
              known.accepted) +
         list("No longer found, though " + baseline + " has it", known.gone) +
         list("Not observable, and required by --strict", not_made);
}

std::string jsonOf(const traces::Diagnosis& diagnosis, const Known& known, const DoctorOptions& o,
                   const std::vector<std::string>& not_made) {
  nlohmann::json json = traces::toJson(diagnosis);
  if (!o.baseline.empty()) json["baseline"] = {{"accepted", known.accepted}, {"gone", known.gone}};
  if (o.strict) json["strict"] = {{"rules", o.strict_rules}, {"not_observable", not_made}};
  return dumped(json);
}

void checkRules(const std::vector<std::string>& ids) {
  for (const std::string& id : ids)
    if (std::ranges::find(traces::rules(), id, &traces::Rule::id) == traces::rules().end())
      throw usageError("--strict: there is no rule " + id +
                       "; `ringscope mistakes` lists the rules");
}

int run(const DoctorOptions& o) {
  checkRules(o.strict_rules);
  traces::checkOutputs({{"TRACE", o.trace}, {"--baseline", o.baseline}},
                       {{"--sarif", o.sarif}, {"--junit", o.junit}});
  const bool compared = !o.baseline.empty();
  const traces::Baseline baseline =
      compared ? traces::Baseline(traces::readJson(o.baseline), o.baseline) : traces::Baseline();
  const auto trace = traces::openTrace(o.trace);
  trace->readEvents();  // reads all chunks, so that every damaged chunk is reported
  for (const auto& remark : traces::listRemarks(*trace)) std::cerr << "note: " << remark << "\n";
  const auto diagnosis = traces::diagnose(*trace);
  const Known known = knownOf(diagnosis, baseline);
  const std::vector<std::string> not_made =
      o.strict ? traces::notMade(diagnosis, o.strict_rules) : std::vector<std::string>();
  std::cout << (o.json ? jsonOf(diagnosis, known, o, not_made)
                       : asText(diagnosis, known, o.baseline, not_made));
  if (!o.sarif.empty())
    write(o.sarif, dumped(traces::toSarif(diagnosis, o.trace, RINGSCOPE_VERSION,
                                          compared ? &baseline : nullptr)));
  if (!o.junit.empty()) write(o.junit, traces::toJunit(diagnosis, o.trace, baseline));
  const bool accepted = known.accepted.size() == diagnosis.findings().size();
  return accepted && not_made.empty() ? kSuccess : kAnswerIsNo;
}

}  // namespace

void defineDoctor(CLI::App& command, int& exit_code) {
  auto o = std::make_shared<DoctorOptions>();
  command.add_option("TRACE", o->trace, "A .rscope file")->required();
  command.add_flag("--json", o->json, "Print as JSON");
  command.add_option("--sarif", o->sarif, "Write the findings as SARIF to this file");
  command.add_option("--junit", o->junit, "Write one JUnit test case per rule to this XML file");
  command.add_option("--baseline", o->baseline,
                     "A file that doctor --json printed. Its findings are accepted: only other "
                     "findings give exit code 1");
  CLI::Option* strict =
      command
          .add_option("--strict", o->strict_list,
                      "Exit code 1 also when one of these rules could not judge. Without a list: "
                      "when any rule that applies could not")
          ->expected(0, 1)
          ->type_name("[RULE,…]");
  command.callback([=, &exit_code] {
    o->strict = strict->count() > 0;
    std::istringstream rules(o->strict_list);
    for (std::string rule; std::getline(rules, rule, ',');) o->strict_rules.push_back(rule);
    exit_code = run(*o);
  });
}

}  // namespace ringscope::app
