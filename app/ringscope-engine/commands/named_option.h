// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/names.h"

namespace ringscope::app {

/// Adds an option that takes one of an enumeration's names. `allowed` can exclude names.
template <traces::NamedEnum E>
CLI::Option* addNamed(CLI::App& command, const std::string& option, std::optional<E>& target,
                      const std::string& description,
                      const std::vector<std::string>& allowed = traces::allNames<E>()) {
  const auto set = [&target](const std::string& text) { target = traces::parse<E>(text); };
  return command.add_option_function<std::string>(option, set, description)
      ->check(CLI::IsMember(allowed));
}

/// Adds such an option for a `target` that has a default already, which --help shows.
template <traces::NamedEnum E>
CLI::Option* addNamed(CLI::App& command, const std::string& option, E& target,
                      const std::string& description,
                      const std::vector<std::string>& allowed = traces::allNames<E>()) {
  const auto set = [&target](const std::string& text) { target = traces::parse<E>(text); };
  return command.add_option_function<std::string>(option, set, description)
      ->check(CLI::IsMember(allowed))
      ->default_str(traces::name(target));
}

}  // namespace ringscope::app
