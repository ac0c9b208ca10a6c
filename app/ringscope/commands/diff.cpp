// SPDX-License-Identifier: Apache-2.0
#include <iomanip>
#include <iostream>
#include <map>
#include <tuple>

#include "app/command_line/columns.h"
#include "app/command_line/command.h"
#include "traces/analysis/compare/report.h"
#include "traces/analysis/diff/summary.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/trace.h"

namespace ringscope::app {
namespace {

using traces::DiffRecord;

nlohmann::json toJson(const DiffRecord& diff) {
  return {{"kind", diff.isolated ? "isolated" : "end_to_end"},
          {"train_step", diff.place.train_step},
          {"layer", traces::toJson(diff.place.layer)},
          {"direction", traces::name(diff.place.direction)},
          {"tensor", diff.tensor},
          {"error", diff.error},
          {"limit", diff.limit},
          {"ratio", diff.ratio},
          {"ratio_by_rank", diff.ratio_by_rank},
          {"max_abs", diff.largest},
          {"quantisation", traces::toJson(diff.quantisation)},
          {"worst_index", diff.worst_index}};
}

nlohmann::json orNull(const DiffRecord* diff) {
  return diff ? toJson(*diff) : nlohmann::json();
}

void printJson(const traces::Trace& trace, const traces::DiffSummary& summary) {
  nlohmann::json json = {{"compared", summary.compared},
                         {"diverging", summary.diverging},
                         {"first_divergence", orNull(summary.first_divergence)},
                         {"worst_isolated", orNull(summary.worst_isolated)},
                         {"worst_end_to_end", orNull(summary.worst_end_to_end)},
                         {"diffs", nlohmann::json::array()}};
  for (const auto& diff : trace.diffs()) json["diffs"].push_back(toJson(diff));
  std::cout << json.dump(2) << "\n";
}

void printRow(const DiffRecord& diff) {
  std::cout << (traces::diverges(diff) ? "  ✗ " : "  ✓ ") << std::left << std::setw(11)
            << (diff.isolated ? "isolated" : "end to end") << "step " << std::setw(4)
            << diff.place.train_step << alignLeft(traces::describe(diff), 54) << "error "
            << std::scientific << std::setprecision(2) << diff.error << "  limit " << diff.limit
            << alignRight(traces::describeMultiple(diff.ratio), 9);
  if (diff.quantisation)
    std::cout << "  FP8 alone " << traces::describeSignificant(*diff.quantisation * 100, 2) << " %";
  std::cout << "\n";
}

/// Returns the worst diff of each tensor over all training steps, in the order of first comparison.
std::vector<const DiffRecord*> worstPerTensor(const traces::Trace& trace) {
  std::vector<const DiffRecord*> rows;
  std::map<std::tuple<bool, traces::Layer, std::string>, std::size_t> row_of;
  for (const auto& diff : trace.diffs()) {
    const auto [known, first] =
        row_of.try_emplace({diff.isolated, diff.place.layer, diff.tensor}, rows.size());
    if (first)
      rows.push_back(&diff);
    else
      traces::keepWorse(rows[known->second], diff);
  }
  return rows;
}

void printText(const traces::Trace& trace, const traces::DiffSummary& summary) {
  std::cout
      << "Against unsharded attention in fp64: the worst row of each tensor, its error ÷ what "
         "rounding explains there;\nthe worst training step of each tensor:\n";
  for (const DiffRecord* diff : worstPerTensor(trace)) printRow(*diff);
  if (!summary.first_divergence) {
    std::cout << "✓ " << traces::describeAll(summary.compared, "comparison")
              << (summary.compared == 1 ? " is" : " are") << " within rounding.\n";
    return;
  }
  std::cout << "✗ " << traces::describeCount(summary.diverging) << " of "
            << traces::describeCount(summary.compared, "comparison")
            << (summary.diverging == 1 ? " diverges" : " diverge") << ". First: "
            << (summary.first_divergence->isolated ? "born in " : "seen end to end in ")
            << traces::describe(*summary.first_divergence) << " of training step "
            << summary.first_divergence->place.train_step << ", "
            << traces::describeMultiple(summary.first_divergence->ratio) << " its limit.\n";
}

std::shared_ptr<traces::Trace> opened(const std::string& path) {
  auto trace = traces::openTrace(path);
  trace->readEvents();  // reads all chunks, so that every damaged chunk is reported
  for (const auto& remark : traces::listRemarks(*trace)) std::cerr << "note: " << remark << "\n";
  return trace;
}

struct DiffOptions {
  std::string path, against, floor;
  bool json = false;
};

int runAgainst(const DiffOptions& o) {
  const auto trace = opened(o.path), other = opened(o.against);
  const auto floor = o.floor.empty() ? nullptr : opened(o.floor);
  const auto comparison = traces::compareRuns(*trace, *other, floor.get());
  if (o.json)
    std::cout << traces::toJson(comparison).dump(2) << "\n";
  else
    std::cout << traces::toText(comparison);
  switch (comparison.verdict()) {
    case traces::Agreement::kDiffers:
    case traces::Agreement::kUnknown:  // nothing shows that the recordings agree
      return kAnswerIsNo;
    default:
      return kSuccess;
  }
}

int run(const DiffOptions& o) {
  if (!o.floor.empty() && o.against.empty())
    throw usageError("--floor says by how much equal runs differ; name the other run by --against");
  if (!o.against.empty()) return runAgainst(o);
  const auto& path = o.path;
  const auto trace = opened(path);
  if (trace->diffs().empty())
    throw inputError(path + " holds no comparison with unsharded attention; " +
                     traces::verdictAdvice(*trace, "records one") +
                     ", or compare it with another recording by --against");
  const auto summary = traces::summarize(*trace);
  o.json ? printJson(*trace, summary) : printText(*trace, summary);
  return summary.diverging == 0 ? kSuccess : kAnswerIsNo;
}

}  // namespace

void defineDiff(CLI::App& command, int& exit_code) {
  auto o = std::make_shared<DiffOptions>();
  command
      .add_option("TRACE", o->path,
                  "A .rscope file that was recorded with --verify; with --against, any recording")
      ->required();
  command
      .add_option("--against", o->against,
                  "Compare with another recording of the same model and data, on any mesh")
      ->type_name("TRACE");
  command
      .add_option("--floor", o->floor,
                  "A second recording of the run of --against. It shows how far equal runs differ. "
                  "Not needed if both runs were recorded with --verify")
      ->type_name("TRACE");
  command.add_flag("--json", o->json, "Print as JSON");
  command.callback([=, &exit_code] { exit_code = run(*o); });
}

}  // namespace ringscope::app
