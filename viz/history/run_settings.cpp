// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/history/run_settings.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "traces/format/core/prose.h"
#include "traces/plan/balance.h"

namespace ringscope::viz {
namespace {

constexpr char kCounted = '~';

/// The settings in the order in which a reader looks for them, with the word before the value. No
/// word: the value says enough by itself. A word after kCounted is a noun that the value counts.
constexpr std::array<std::pair<const char*, const char*>, 29> kSettings = {{
    {"command", ""},
    {"model_dir", "model"},
    {"strategy", ""},
    {"dp", "dp"},
    {"tp", "tp"},
    {"cp", "cp"},
    {"ulysses", "ulysses"},
    {"balance", ""},
    {"mask", ""},
    {"window", "window"},
    {"seq_len", "~token"},
    {"batch", "batch"},
    {"steps", "~step"},
    {"dtype", ""},
    {"rotate", "rotate"},
    {"order", ""},
    {"fp8", "fp8"},
    {"kernel", "kernel"},
    {"p2p", "hops"},
    {"transport", ""},
    {"launch", ""},
    {"device", ""},
    {"recompute", "recompute"},
    {"sinks", "sinks"},
    {"dropout", "dropout"},
    {"seed", "seed"},
    {"lr", "lr"},
    {"text", "text"},
    {"tokens", "token file"},
}};

std::string fileName(const std::string& path) {
  const std::filesystem::path file(path);
  return (file.has_filename() ? file.filename() : file.parent_path().filename()).string();
}

std::string asText(const std::string& setting, const nlohmann::json& value) {
  const bool is_path = setting == "model_dir" || setting == "text" || setting == "tokens";
  if (value.is_string())
    return is_path ? fileName(value.get<std::string>()) : value.get<std::string>();
  if (value.is_array()) {
    std::string names;
    for (const auto& item : value) names += (names.empty() ? "" : ", ") + asText(setting, item);
    return names;
  }
  return value.is_null() ? std::string() : value.dump();
}

RunSettings defaults() {
  traces::RunSpec run;
  run.balance = traces::defaultCausalBalance();
  return listSettings(run);
}

std::string describeSetting(const std::string& word, const std::string& value) {
  if (word.starts_with(kCounted))
    return traces::describeCount(std::atoll(value.c_str()), word.substr(1));
  if (value == "true") return word;
  if (value == "false") return "no " + word;
  if (value.empty()) return "default " + word;
  return word.empty() ? value : word + " " + value;
}

}  // namespace

RunSettings listSettings(const traces::RunSpec& run) {
  const nlohmann::json json = traces::toJson(run);
  RunSettings settings;
  for (const auto& [setting, word] : kSettings)
    if (json.contains(setting)) settings[setting] = asText(setting, json.at(setting));
  // One rank that shares heads is the same as none.
  if (auto& ulysses = settings["ulysses"]; ulysses == "0") ulysses = "1";
  return settings;
}

std::vector<SettingWord> describeDifferences(const RunSettings& run, const RunSettings& next) {
  static const RunSettings kDefaults = defaults();
  std::vector<SettingWord> words;
  for (const auto& [setting, word] : kSettings) {
    const auto value = run.find(setting);
    if (value == run.end()) continue;
    const auto below = next.find(setting);
    const bool differs_from_next = below != next.end() && below->second != value->second;
    const auto usual = kDefaults.find(setting);
    const bool differs = usual == kDefaults.end() || usual->second != value->second;
    // The sample text lies where RingScope is installed, so its name says nothing.
    const bool tells = std::string_view(setting) != "text" || differs_from_next;
    if ((differs && tells) || differs_from_next)
      words.push_back({describeSetting(*word ? word : "", value->second), differs_from_next});
  }
  return words;
}

}  // namespace ringscope::viz
