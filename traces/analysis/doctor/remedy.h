// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Something to add to a job, or an option of a run, that lets a rule judge which could not.
enum class Remedy : std::uint8_t {
  kRecorder,
  kMergedFiles,
  kWholeRun,
  kMesh,
  kLoggedLoss,
  kLoggedNorm,
  kLoggedValidation,
  kAuxiliaryLoss,
  kDeclaredMask,
  kDeclaredPositions,
  kDeclaredLoss,
  kModel,
  kBuffers,
  kBlocks,
  kTwoSteps,
  kLargerBudget,
  kAllValues,
  kStatsCapture,
  kFullCapture,
  kCount
};
template <>
struct EnumNames<Remedy> {
  static constexpr const char* kWhat = "remedy";
  static constexpr std::array kNames = {"recorder",          "merged_files",
                                        "whole_run",         "mesh",
                                        "logged_loss",       "logged_norm",
                                        "logged_validation", "auxiliary_loss",
                                        "declared_mask",     "declared_positions",
                                        "declared_loss",     "model",
                                        "buffers",           "blocks",
                                        "two_steps",         "larger_budget",
                                        "all_values",        "stats_capture",
                                        "full_capture"};
};

/// The words of a remedy. `line` is typed as it is, and `where` continues it.
struct RemedyWords {
  const char* line;   ///< "ringscope.log(loss=loss)"
  const char* where;  ///< "after the reduction"; empty: the line says it
};
const RemedyWords& remedyWords(Remedy remedy);
/// Returns the line in backquotes and where it belongs: "`ringscope.log(loss=loss)` after the
/// reduction".
std::string describe(Remedy remedy);

/// Returns what a rule needs that the recording lacks, in the order in which to add it: lines, and
/// the option that keeps more values. Names nothing that the recording was made with. Empty when
/// no remedy is known.
std::vector<Remedy> missingRemedies(const Trace& trace, const std::string& rule);
/// Reports whether the recording was made without this, and could have been made with it.
bool isMissing(const Trace& trace, Remedy remedy);

}  // namespace ringscope::traces
