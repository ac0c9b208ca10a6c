// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/applicability.h"

#include <algorithm>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/schema/declared.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {
namespace {

/// The settings of a run that the recording states, and does not leave at a default.
struct KnownSettings {
  bool all = false;       ///< a run of this engine
  bool mesh = false;      ///< which ranks share a sequence
  bool strategy = false;  ///< how attention was shared
  bool mask = false;      ///< which mask was meant
};

KnownSettings knownSettings(const Trace& trace) {
  if (!isForeign(trace)) return {true, true, true, true};
  const auto request = recorderRequest(trace);
  const nlohmann::json& declared = trace.note(kDeclaredNote);
  KnownSettings known;
  known.mesh =
      std::ranges::find(trace.groups(), GroupAxis::kCp, &GroupRecord::axis) != trace.groups().end();
  known.strategy = known.mesh && request && (request->ring || request->annotated);
  known.mask = declared.is_object() && declared.contains("mask") && !trace.intents().empty();
  return known;
}

/// A setting without which a mistake cannot be made, in whatever program.
struct NeedCondition {
  const Need* need;
  bool (*known)(const KnownSettings& known);
  const char* otherwise;
};

const std::vector<NeedCondition>& conditions() {
  static const auto kInEngine = [](const KnownSettings& known) { return known.all; };
  static const auto kMesh = [](const KnownSettings& known) { return known.mesh; };
  static const auto kStrategy = [](const KnownSettings& known) { return known.strategy; };
  static const auto kMask = [](const KnownSettings& known) { return known.mask; };
  static const auto kMaskedRing = [](const KnownSettings& known) {
    return known.mask && known.strategy;
  };
  static const std::vector<NeedCondition> kConditions = {
      {&needs::kTraining, kInEngine, "one attention has no training step"},
      {&needs::kPaddedAttention, kInEngine, "padding is masked in one attention only"},
      {&needs::kOtherProgram, kInEngine, "RingScope's engine cannot make it"},
      {&needs::kSeveralRanks, kMesh, "each sequence is on one rank"},
      {&needs::kSquareMesh, kMesh, "each sequence is on one rank"},
      {&needs::kSeveralDpRanks, kMesh, "there is one dp rank"},
      {&needs::kSeveralLosses, kMesh, "one rank has all targets"},
      {&needs::kSeveralInWorld, kMesh, "one rank has all gradients"},
      {&needs::kDropout, kStrategy, "attention has no dropout"},
      {&needs::kRecompute, kInEngine, "no activations are recomputed"},
      {&needs::kOtherBlocks, kStrategy, "no rank attends another rank's block"},
      {&needs::kMergedBlocks, kStrategy, "each query attends its keys in one piece"},
      {&needs::kSumsOfWholeRows, kStrategy, "each query attends its keys in one piece"},
      {&needs::kHops, kStrategy, "no block moves from rank to rank"},
      {&needs::kLongRing, kStrategy, "the next rank is the previous rank too"},
      {&needs::kSharedHeads, kStrategy, "ranks share no heads"},
      {&needs::kFullBlocks, kMaskedRing, "each rank attends its own block only"},
      {&needs::kCausal, kMask, "the mask is full"},
      {&needs::kFullMask, kMask, "the mask is not full"},
      {&needs::kWindow, kMask, "the mask has no window"},
      {&needs::kDocuments, kMask, "the mask does not end at documents"},
      {&needs::kRestarts, kInEngine, "positions count through the whole sequence"},
  };
  return kConditions;
}

/// Returns the settings with the mask that was meant instead of the mask of the recorded calls.
RunSpec meantRun(const Trace& trace, const KnownSettings& known) {
  RunSpec run = *trace.run();
  if (known.all || !known.mask) return run;
  run.mask = trace.intents().front().mask;
  run.window = trace.intents().front().window;
  return run;
}

/// A mesh of another shape cannot take the dp group for the cp group, but may take other groups.
bool isMet(const Need& need, const RunSpec& run) {
  return (&need == &needs::kSquareMesh ? needs::kSeveralRanks : need).is_met(run, {});
}

}  // namespace

std::string whyNotApplicable(const Trace& trace, const std::string& id) {
  const Mistake* mistake = findMistake(id);
  if (!mistake || !trace.run()) return "";
  const KnownSettings known = knownSettings(trace);
  const RunSpec run = meantRun(trace, known);
  for (const Need* need : mistake->needs) {
    const auto condition = std::ranges::find(conditions(), need, &NeedCondition::need);
    if (condition != conditions().end() && condition->known(known) && !isMet(*need, run))
      return condition->otherwise;
  }
  return "";
}

}  // namespace ringscope::traces
