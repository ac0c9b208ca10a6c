// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "traces/analysis/compare/parts.h"

namespace ringscope::traces {
namespace {

/// Reports whether a setting does not affect the numbers of a training step. The number of steps is
/// reported elsewhere.
bool isOfRecording(const std::string& setting) {
  static constexpr std::array kOfRecording = {"capture", "verify", "cores", "steps"};
  return std::ranges::find(kOfRecording, setting) != kOfRecording.end();
}

/// Compares two values. Each field of a record is compared separately and named like
/// "model.layers".
void compareFields(const std::string& name, const nlohmann::json& ours,
                   const nlohmann::json& theirs, std::vector<std::string>& settings) {
  if (ours.is_object() && theirs.is_object()) {
    for (const auto& [field, value] : ours.items()) {
      std::string path = name;
      path += "." + field;
      if (theirs.contains(field)) compareFields(path, value, theirs.at(field), settings);
    }
  } else if (ours != theirs) {
    std::string sentence = name;
    sentence += ": ";
    sentence += ours.dump();
    sentence += " against ";
    sentence += theirs.dump();
    settings.push_back(std::move(sentence));
  }
}

}  // namespace

void compareSettings(const Trace& run, const Trace& other, RunComparison& comparison) {
  if (!run.run() || !other.run()) {
    comparison.left_out.push_back("settings: one of the recordings does not say what was run");
    return;
  }
  const nlohmann::json ours = toJson(*run.run()), theirs = toJson(*other.run());
  for (const auto& [setting, value] : ours.items())
    if (!isOfRecording(setting) && theirs.contains(setting))
      compareFields(setting, value, theirs.at(setting), comparison.settings);
}

}  // namespace ringscope::traces
