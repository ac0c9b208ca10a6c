// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/recorder_request.h"

#include <algorithm>

#include "traces/format/schema/declared.h"
#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

std::optional<std::int64_t> findCount(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(found->get<std::uint64_t>(), std::uint64_t{1} << 53));
}

std::optional<std::vector<std::pair<std::int64_t, std::int64_t>>> runsIn(
    const nlohmann::json& object, const char* key) {
  const auto list = object.find(key);
  if (list == object.end() || !list->is_array()) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (const auto& run : *list) {
    if (!run.is_array() || run.size() != 2 || !run[0].is_number_integer() ||
        !run[1].is_number_integer())
      return std::nullopt;
    runs.emplace_back(run[0].get<std::int64_t>(), run[1].get<std::int64_t>());
  }
  return runs;
}

}  // namespace

bool RecorderRequest::recorded(std::int32_t train_step) const {
  return !steps || std::ranges::any_of(*steps, [&](const auto& run) {
    return run.first <= train_step && train_step < run.second;
  });
}

bool RecorderRequest::allWouldKeepMore(bool small) const {
  if (values == "all") return false;
  if (values == "none" || !kept_values) return true;
  const bool always_kept = small && values == "auto";
  return !always_kept && left_out_by_policy != 0;
}

std::optional<RecorderRequest> recorderRequest(const Trace& trace) {
  const nlohmann::json& note = trace.note(kRecorderNote);
  if (!note.is_object()) return std::nullopt;
  RecorderRequest request;
  for (const char* known : {"auto", "all", "none"})
    if (textIn(note, "values") == known) request.values = known;
  request.steps = runsIn(note, "steps");
  request.budget_bytes = findCount(note, "budget_bytes").value_or(0);
  if (const auto left_out = note.find("left_out");
      left_out != note.end() && left_out->is_object()) {
    request.left_out_by_policy = findCount(*left_out, "policy");
    request.left_out_by_budget = findCount(*left_out, "budget");
  }
  request.kept_values = std::ranges::any_of(trace.tensors(), &TensorRecord::has_values);
  request.ring = textIn(note, "attention") == "ring";
  request.annotated = textIn(note, "attention") == "annotated";
  request.recognised = textIn(note, "attention") == "recognised";
  request.own_mask = flagIn(note, "own_mask");
  return request;
}

bool hasRecognisedAttention(const Trace& trace) {
  const auto request = recorderRequest(trace);
  return request && request->recognised;
}

}  // namespace ringscope::traces
