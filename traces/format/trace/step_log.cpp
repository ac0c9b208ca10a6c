// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/step_log.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace ringscope::traces {
namespace {

constexpr const char* kPeakWithVerification = "peak_bytes_with_verification";

std::optional<double> numberOf(const nlohmann::json& value) {
  // JSON writes NaN as null
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (value.is_number()) return value.get<double>();
  return std::nullopt;
}

/// Returns a number, or the largest number of a list.
std::optional<double> mostOf(const nlohmann::json& value) {
  if (!value.is_array()) return numberOf(value);
  std::optional<double> most;
  for (const nlohmann::json& each : value)
    if (const auto number = numberOf(each); number && !(most && *most >= *number)) most = number;
  return most;
}

/// Reads the note of a step. `verified`: verification held memory in this run.
LoggedStep read(const nlohmann::json& note, bool verified) {
  LoggedStep step;
  if (!note.is_object()) return step;
  const auto field = [&](const char* name) -> std::optional<double> {
    const auto at = note.find(name);
    return at == note.end() ? std::nullopt : mostOf(*at);
  };
  step.loss = field("loss");
  step.validation_loss = field("validation_loss");
  step.grad_norm = field("grad_norm");
  step.clip_coefficient = field("clip_coefficient");
  step.targets = field("targets");
  step.seconds = field("seconds");
  step.peak_bytes_with_verification = field(kPeakWithVerification);
  // Recordings of earlier versions have one number, which includes verification.
  if (step.peak_bytes_with_verification || !verified)
    step.peak_bytes = field("peak_bytes");
  else
    step.peak_bytes_with_verification = field("peak_bytes");
  return step;
}

}  // namespace

std::optional<std::int32_t> parseLoggedStep(std::string_view key) {
  constexpr std::string_view kStepNote = "step.";
  if (!key.starts_with(kStepNote)) return std::nullopt;
  key.remove_prefix(kStepNote.size());
  std::int32_t step = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), step);
  if (error != std::errc() || end != key.data() + key.size() || step < 0) return std::nullopt;
  return step;
}

std::map<std::int32_t, LoggedStep> loggedSteps(const Trace& trace) {
  const bool verified = trace.run() && trace.run()->verify;
  std::map<std::int32_t, LoggedStep> steps;
  for (const Note& note : trace.notes())
    if (const auto step = parseLoggedStep(note.key))
      steps[*step] = read(nlohmann::json::parse(note.json, nullptr, false), verified);
  return steps;
}

}  // namespace ringscope::traces
