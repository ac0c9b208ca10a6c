// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/remedy.h"

#include <algorithm>
#include <optional>
#include <set>

#include "traces/analysis/doctor/needed_remedies.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/schema/declared.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/recorder_request.h"
#include "traces/format/trace/step_log.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

/// The recordings that a remedy is for.
enum class RecordedBy : std::uint8_t { kEngine, kRecorder, kEngineOrRecorder, kProfiler };

RecordedBy recordedBy(const Trace& trace) {
  if (recorderRequest(trace)) return RecordedBy::kRecorder;
  return importedFrom(trace) || isForeign(trace) ? RecordedBy::kProfiler : RecordedBy::kEngine;
}

bool declares(const Trace& trace, const char* what) {
  const nlohmann::json& declared = trace.note(kDeclaredNote);
  return declared.is_object() && declared.contains(what);
}

bool logs(const Trace& trace, std::optional<double> LoggedStep::*field) {
  return std::ranges::any_of(loggedSteps(trace),
                             [&](const auto& step) { return (step.second.*field).has_value(); });
}

bool hasGradients(const Trace& trace) {
  return std::ranges::any_of(trace.tensors(), [](const TensorRecord& tensor) {
    return tensor.tensor.kind == TensorKind::kGradient;
  });
}

bool knowsCpGroups(const Trace& trace) {
  return std::ranges::find(trace.groups(), GroupAxis::kCp, &GroupRecord::axis) !=
         trace.groups().end();
}

/// Reports whether a rank of a known group recorded nothing.
bool lacksFiles(const Trace& trace) {
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    const auto of_rank = [&](const auto& record) { return record.rank == WorldRank::of(rank); };
    if (trace.events(WorldRank::of(rank)).empty() &&
        std::ranges::none_of(trace.tensors(), of_rank) &&
        std::ranges::none_of(trace.shards(), of_rank))
      return true;
  }
  return false;
}

bool wasCut(const Trace& trace) {
  return (trace.end() && trace.end()->dropped_events > 0) || !findEnding(trace).whole();
}

std::size_t stepCount(const Trace& trace) {
  std::set<std::int32_t> steps = stepsWithTensors(trace);
  for (const Place& moment : trace.moments()) steps.insert(moment.train_step);
  return steps.size();
}

bool namedItsAttention(const Trace& trace) {
  const auto request = recorderRequest(trace);
  return request && (request->ring || request->annotated);
}

bool ranOutOfBudget(const Trace& trace) {
  const auto request = recorderRequest(trace);
  return request && request->left_out_by_budget.value_or(0) > 0;
}

struct RemedyRow {
  Remedy remedy;
  RemedyWords words;
  RecordedBy of;  ///< the recordings that can be made with it
  bool (*missing)(const Trace& trace);
};

/// One row per remedy, in the order of the enumeration.
constexpr RemedyRow kTable[] = {
    {Remedy::kRecorder,
     {"ringscope.record(\"runs/job\", model=model)", "around the training steps"},
     RecordedBy::kProfiler,
     [](const Trace&) { return true; }},
    {Remedy::kMergedFiles,
     {"ringscope merge", "with the files of all ranks"},
     RecordedBy::kEngineOrRecorder,
     lacksFiles},
    {Remedy::kWholeRun,
     {"a whole recording", "of a run that ends by itself and drops no events"},
     RecordedBy::kEngineOrRecorder,
     wasCut},
    {Remedy::kMesh,
     {"with ringscope.record(\"runs/job\", model=model):",
      "around the place where context_parallel is entered"},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !knowsCpGroups(trace) && trace.worldSize() > 1; }},
    {Remedy::kLoggedLoss,
     {"ringscope.log(loss=loss)", "after the reduction"},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !logs(trace, &LoggedStep::loss); }},
    {Remedy::kLoggedNorm,
     {"ringscope.log(grad_norm=norm)", "after clipping"},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !logs(trace, &LoggedStep::grad_norm); }},
    {Remedy::kLoggedValidation,
     {"ringscope.log(validation_loss=loss)", "after an evaluation between recorded training steps"},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !logs(trace, &LoggedStep::validation_loss); }},
    {Remedy::kAuxiliaryLoss,
     {"ringscope.auxiliary_loss(loss, weight=weight)", "before the loss is added to others"},
     RecordedBy::kRecorder,
     [](const Trace&) { return true; }},
    {Remedy::kDeclaredMask,
     {"ringscope.record(…, declare={\"mask\": \"causal\"})", "with the mask that you meant"},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !declares(trace, "mask"); }},
    {Remedy::kDeclaredPositions,
     {"ringscope.record(…, declare={\"positions\": \"whole_sequence\"})", "or \"each_document\""},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !declares(trace, "positions"); }},
    {Remedy::kDeclaredLoss,
     {"ringscope.record(…, declare={\"loss\": \"mean_over_targets\"})", ""},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !declares(trace, "loss"); }},
    {Remedy::kModel,
     {"ringscope.record(…, model=model)", ""},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !hasGradients(trace); }},
    {Remedy::kBuffers,
     {"ringscope.buffer(part, \"input_ids\", tokens=tokens, group=group)",
      "after each cut of a buffer"},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return trace.shards().empty(); }},
    {Remedy::kBlocks,
     {"ringscope.block(step, source, k, v)",
      "for each block, after ringscope.attention(q, k, v, group=group, causal=True)"},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return !namedItsAttention(trace); }},
    {Remedy::kTwoSteps,
     {"ringscope.record(…, steps=range(2))", ""},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return stepCount(trace) < 2; }},
    {Remedy::kLargerBudget,
     {"ringscope.record(…, budget_bytes=2**30)", "or more, which keeps what did not fit"},
     RecordedBy::kRecorder,
     ranOutOfBudget},
    {Remedy::kAllValues,
     {"ringscope.record(…, values=\"all\")", ""},
     RecordedBy::kRecorder,
     [](const Trace& trace) { return recorderRequest(trace)->allWouldKeepMore(false); }},
    {Remedy::kStatsCapture,
     {"--capture stats", ""},
     RecordedBy::kEngine,
     [](const Trace& trace) { return captureWouldHelp(trace, "stats"); }},
    {Remedy::kFullCapture,
     {"--capture full", ""},
     RecordedBy::kEngine,
     [](const Trace& trace) { return captureWouldHelp(trace, "full"); }},
};

const RemedyRow& rowOf(Remedy remedy) {
  return kTable[static_cast<std::size_t>(remedy)];
}

/// Reports whether values of activations were left out, because of their size or on request.
bool leavesOutActivations(const Trace& trace) {
  return std::ranges::any_of(trace.tensors(), [](const TensorRecord& tensor) {
    return !tensor.has_values && tensor.tensor.kind != TensorKind::kGradient &&
           tensor.tensor.kind != TensorKind::kWeight;
  });
}

/// Returns the option that would have kept values which this rule needs. Nobody knows whether
/// blocks that were not seen would have been kept, unless other activations were.
std::optional<Remedy> captureFor(const Trace& trace, const Mistake& mistake, bool lacks_blocks) {
  if (mistake.capture == CaptureNeeded::kEvents) return std::nullopt;
  const bool stats = mistake.capture == CaptureNeeded::kStats;
  if (recordedBy(trace) == RecordedBy::kEngine)
    return stats ? Remedy::kStatsCapture : Remedy::kFullCapture;
  if (ranOutOfBudget(trace) && !recorderRequest(trace)->allWouldKeepMore(stats))
    return Remedy::kLargerBudget;
  if (lacks_blocks && !leavesOutActivations(trace)) return std::nullopt;
  return captureWouldHelp(trace, name(mistake.capture)) ? std::optional(Remedy::kAllValues)
                                                        : std::nullopt;
}

}  // namespace

const RemedyWords& remedyWords(Remedy remedy) {
  return rowOf(remedy).words;
}

std::string describe(Remedy remedy) {
  const auto& [line, where] = remedyWords(remedy);
  return "`" + std::string(line) + "`" + (*where ? " " + std::string(where) : "");
}

bool isMissing(const Trace& trace, Remedy remedy) {
  const RemedyRow& row = rowOf(remedy);
  const RecordedBy by = recordedBy(trace);
  const bool fits = row.of == by || (row.of == RecordedBy::kEngineOrRecorder &&
                                     (by == RecordedBy::kEngine || by == RecordedBy::kRecorder));
  return fits && row.missing(trace);
}

std::vector<Remedy> missingRemedies(const Trace& trace, const std::string& rule) {
  if (recordedBy(trace) == RecordedBy::kProfiler) return {Remedy::kRecorder};
  // The rest of a training step may hold what seems to be missing.
  if (!findEnding(trace).hasWholeSteps()) return {Remedy::kWholeRun};
  std::vector<Remedy> needed = neededRemedies(rule);
  std::erase_if(needed, [&](Remedy one) { return !isMissing(trace, one); });
  const bool lacks_blocks = std::ranges::count(needed, Remedy::kBlocks) > 0;
  if (const Mistake* mistake = findMistake(rule))
    if (const auto capture = captureFor(trace, *mistake, lacks_blocks);
        capture && isMissing(trace, *capture))
      needed.push_back(*capture);
  return needed;
}

}  // namespace ringscope::traces
