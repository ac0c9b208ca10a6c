// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/ringscope/commands/command.h"
#include "traces/doctor/rule.h"
#include "traces/mistakes/catalogue.h"
#ifdef RINGSCOPE_WITH_ENGINE
#include "engine/mistakes/seams.h"
#endif

namespace ringscope::app {
namespace {

bool canBeInjected([[maybe_unused]] const std::string& id) {
#ifdef RINGSCOPE_WITH_ENGINE
  for (const auto& mistake : engine::injectableMistakes())
    if (mistake.id == id) return true;
#endif
  return false;
}

bool hasRule(const std::string& id) {
  for (const auto& rule : traces::rules())
    if (rule.id == id) return true;
  return false;
}

void printJson() {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& m : traces::mistakeCatalogue())
    list.push_back({{"id", m.id},
                    {"title", m.title},
                    {"look_for", m.look_for},
                    {"reported_in", m.reported_in},
                    {"injectable", canBeInjected(m.id)},
                    {"doctor", hasRule(m.id)}});
  std::cout << list.dump(2) << "\n";
}

void printText() {
  for (const auto& m : traces::mistakeCatalogue()) {
    std::cout << m.id << (canBeInjected(m.id) ? "  [--mistake]" : "")
              << (hasRule(m.id) ? "  [doctor]" : "") << "\n  " << m.title
              << "\n  look for: " << m.look_for << "\n  reported in: " << m.reported_in << "\n";
  }
}

}  // namespace

void addMistakes(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "mistakes", "The catalogue of mistakes people make with context parallelism");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print as JSON");
  command->callback([json] { *json ? printJson() : printText(); });
}

}  // namespace ringscope::app
