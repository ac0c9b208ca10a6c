// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "traces/analysis/compare/parts.h"
#include "traces/analysis/verify/recompute/gather.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/shared_cores.h"
#include "traces/format/trace/step_log.h"

namespace ringscope::traces {
namespace {

/// One of the two recordings, and its name in sentences.
struct Side {
  const Trace& trace;
  const char* name;
};

std::set<std::int32_t> stepsOf(const CostsByPlace& costs) {
  std::set<std::int32_t> steps;
  for (const auto& [place, of] : costs) steps.insert(place.train_step);
  return steps;
}

/// Returns "training step 3", "training steps 3 to 9" or "4 training steps".
std::string describeSteps(const std::vector<std::int32_t>& steps) {
  if (steps.size() == 1) return "training step " + std::to_string(steps.front());
  if (steps.back() - steps.front() + 1 == std::ssize(steps))
    return "training steps " + std::to_string(steps.front()) + " to " +
           std::to_string(steps.back());
  return describeCount(std::ssize(steps), "training step");
}

/// Reports the steps that `lacking` does not have.
void sayMissingSteps(const std::set<std::int32_t>& has, const std::set<std::int32_t>& lacks,
                     const Side& lacking, std::vector<std::string>& left_out) {
  std::vector<std::int32_t> missing;
  std::ranges::set_difference(has, lacks, std::back_inserter(missing));
  if (!missing.empty())
    left_out.push_back(describeSteps(missing) + ": " + lacking.name + " does not have " +
                       (missing.size() == 1 ? "it" : "them"));
}

void sayMissingLayers(const Side& run, const Side& other, RunComparison& comparison) {
  const RecordedLayers ours = recordedLayers(run.trace), theirs = recordedLayers(other.trace);
  const std::string what = "the rows of attention's tensors: ";
  for (const auto& [layers, side] : {std::pair(&ours, &run), std::pair(&theirs, &other)})
    if (layers->with_values.empty())
      comparison.left_out.push_back(what + side->name + " keeps no values of them; " +
                                    captureAdvice(side->trace, "full", "keeps them"));
  if (ours.with_values.empty() || theirs.with_values.empty()) return;
  const auto& known = theirs.with_values;
  const bool meet = std::ranges::any_of(ours.with_values, [&](const LayerPass& pass) {
    return std::ranges::find(known, pass) != known.end();
  });
  if (!meet)
    comparison.left_out.push_back(
        what + "no layer of a training step has values in both; " +
        valuesAdvice(other.trace, ours.with_values.front().train_step, "of the other keeps them"));
}

bool hasValuesOf(const Trace& trace, const char* tensor) {
  return std::ranges::any_of(trace.tensors(), [&](const TensorRecord& record) {
    return record.has_values && record.tensor.text() == tensor;
  });
}

/// Returns "the recording keeps no values of them". A recording of one attention by itself never
/// has some of the tensors.
std::string lacking(const Side& side, const char* of_attention, const std::string& otherwise) {
  const RunSpec* run = side.trace.run();
  const bool one = run && run->command == Command::kAttend;
  return side.name + (one ? std::string(" is of one attention, which ") + of_attention : otherwise);
}

void sayMissingPositions(const Side& run, const Side& other, RunComparison& comparison) {
  for (const Side* side : {&run, &other})
    if (!hasValuesOf(side->trace, "position_ids"))
      comparison.left_out.push_back(
          "position ids by token: " +
          lacking(*side, "has none",
                  " keeps no values of them; " + captureAdvice(side->trace, "full", "keeps them")));
}

bool has(const CostsByPlace& costs, Cost cost) {
  return std::ranges::any_of(costs, [&](const auto& of) { return of.second[cost].has_value(); });
}

void sayMissingCosts(const Side& side, const CostsByPlace& costs, RunComparison& comparison) {
  if (!has(costs, Cost::kPairs))
    comparison.left_out.push_back(std::string("balance: ") + side.name + " has no schedule; " +
                                  scheduleAdvice(side.trace));
  if (has(costs, Cost::kPeak)) return;
  const auto steps = loggedSteps(side.trace);
  const bool counts_all = std::ranges::any_of(
      steps, [](const auto& step) { return step.second.peak_bytes_with_verification.has_value(); });
  if (counts_all)
    comparison.left_out.push_back(std::string("peak memory: ") + side.name +
                                  " has it with verification counted in; record it again");
  else
    comparison.left_out.push_back(
        "peak memory: " +
        lacking(side, "logs none", " has not logged it; " + memoryAdvice(side.trace)));
}

/// Returns the name of the first differing setting that begins with one of these names; empty when
/// there is none.
std::string differsIn(const RunComparison& comparison, std::initializer_list<const char*> names) {
  for (const std::string& setting : comparison.settings)
    for (const char* name : names)
      if (setting.starts_with(name)) return setting.substr(0, setting.find(':'));
  return "";
}

}  // namespace

void sayWhatIsLeftOut(const Trace& run, const Trace& other, const CostsByPlace& ours,
                      const CostsByPlace& theirs, RunComparison& comparison) {
  const Side one{run, "the recording"}, two{other, "the other recording"};
  const auto of_one = stepsOf(ours), of_two = stepsOf(theirs);
  sayMissingSteps(of_one, of_two, two, comparison.left_out);
  sayMissingSteps(of_two, of_one, one, comparison.left_out);
  sayMissingLayers(one, two, comparison);
  sayMissingPositions(one, two, comparison);
  sayMissingCosts(one, ours, comparison);
  sayMissingCosts(two, theirs, comparison);
}

void remark(const Trace& run, const Trace& other, RunComparison& comparison) {
  auto& remarks = comparison.remarks;
  if (const auto which = differsIn(comparison, {"model."}); !which.empty())
    remarks.push_back("The models differ (" + which +
                      "): one's numbers are no measure for the other's.");
  if (const auto which = differsIn(
          comparison, {"text:", "tokens:", "tokenizer:", "separator:", "seq_len:", "batch:"});
      !which.empty())
    remarks.push_back("The data differ (" + which + "): what differs may follow from that alone.");
  if (const auto which = differsIn(comparison, {"seed:", "model_dir:"}); !which.empty())
    remarks.push_back("The first weights may differ (" + which +
                      "): what differs may follow from that alone.");
  const std::string ours = sharedCoresCaveat(run), theirs = sharedCoresCaveat(other);
  if (!ours.empty()) remarks.push_back(theirs.empty() ? ours + " Not so in the other." : ours);
  if (!theirs.empty() && theirs != ours)
    remarks.push_back(theirs + (ours.empty() ? " Not so in this recording." : ""));
}

}  // namespace ringscope::traces
