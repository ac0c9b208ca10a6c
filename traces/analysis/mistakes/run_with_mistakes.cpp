// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/run_with_mistakes.h"

#include <algorithm>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

using Reason = std::optional<std::string>;

/// Why a mistake would be made nowhere in this run.
Reason missingPlace(const AskedMistake& asked, const RunSpec& run) {
  const auto lacks = [&](const char* what, const std::optional<int>& number, std::int64_t count) {
    return number && *number >= count
               ? Reason("--mistake " + asked.text() + ": this run has no " + what + " " +
                        std::to_string(*number) + "; the last is " + std::to_string(count - 1))
               : std::nullopt;
  };
  const bool trains = run.command != Command::kAttend;
  if (auto reason = lacks("rank", asked.rank, run.worldSize())) return reason;
  const std::int64_t layers = trains ? run.model.layers : 1;
  if (layers > 0)  // else the model's folder was not read yet
    if (auto reason = lacks("layer", asked.layer, layers)) return reason;
  if (auto reason = lacks("step", asked.step, trains ? run.steps : 1)) return reason;
  const auto buffers = chosenBuffers(run);
  if (asked.buffer.empty() ||
      std::ranges::find(buffers, asked.buffer, &BufferChoice::name) != buffers.end())
    return {};
  std::string known;
  for (const auto& buffer : buffers) known += (known.empty() ? "" : ", ") + buffer.name;
  return "--mistake " + asked.text() + ": this run does not cut " + asked.buffer + "; it cuts " +
         known;
}

}  // namespace

Reason reasonAgainst(const RunSpec& run, const AskedMistake& asked) {
  if (auto reason = missingPlace(asked, run)) return reason;
  const Mistake* mistake = findMistake(asked.id);
  if (!mistake) return {};
  for (const Need* need : mistake->needs)
    if (!need->is_met(run, asked))
      return "--mistake " + asked.text() + " " + need->otherwise + "; use " + need->use;
  return {};
}

Reason refusal(const RunSpec& run, const std::vector<AskedMistake>& mistakes) {
  RunSpec checked = run;
  for (const AskedMistake& asked : mistakes)
    if (const Mistake* mistake = findMistake(asked.id); mistake && mistake->checked_as)
      checked = mistake->checked_as(checked);
  if (auto reason = refusal(checked)) return reason;
  for (const AskedMistake& asked : mistakes)
    if (auto reason = reasonAgainst(run, asked)) return reason;
  return {};
}

}  // namespace ringscope::traces
