// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/command_line/command.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::app {
namespace {

bool hasRule(const std::string& id) {
  for (const auto& rule : traces::rules())
    if (rule.id == id) return true;
  return false;
}

/// Returns the settings without which the mistake has no effect or cannot be made.
std::vector<std::string> neededSettings(const traces::Mistake& mistake) {
  std::vector<std::string> settings;
  for (const traces::Need* need : mistake.needs) settings.emplace_back(need->use);
  if (!mistake.shown_by.empty()) settings.push_back(mistake.shown_by);
  return settings;
}

void printJson() {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& m : traces::mistakeCatalogue())
    list.push_back({{"id", m.id},
                    {"subject", m.subject},
                    {"label", m.label},
                    {"title", m.title},
                    {"when_absent", m.when_absent},
                    {"look_for", m.look_for},
                    {"reported_in", m.reported_in},
                    {"view", m.view},
                    {"capture", traces::name(m.capture)},
                    {"injectable", m.injectable},
                    {"needs", neededSettings(m)},
                    {"doctor", hasRule(m.id)}});
  std::cout << list.dump(2) << "\n";
}

void printText() {
  std::string subject;
  for (const auto& m : traces::mistakeCatalogue()) {
    if (m.subject != subject) std::cout << (subject.empty() ? "" : "\n") << m.subject << "\n\n";
    subject = m.subject;
    std::cout << m.id << (m.injectable ? "  [--mistake]" : "")
              << (hasRule(m.id) ? "  [doctor]" : "") << "\n  " << m.title
              << "\n  look for: " << m.look_for << "\n  reported in: " << m.reported_in << "\n";
    if (const auto settings = neededSettings(m); m.injectable && !settings.empty()) {
      std::cout << "  needs:";
      for (std::size_t i = 0; i < settings.size(); ++i)
        std::cout << (i == 0 ? " " : "; ") << settings[i];
      std::cout << "\n";
    }
  }
}

}  // namespace

void defineMistakes(CLI::App& command, int&) {
  auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "Print as JSON");
  command.callback([json] { *json ? printJson() : printText(); });
}

}  // namespace ringscope::app
