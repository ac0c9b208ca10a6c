// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"

namespace ringscope::viz {

/// The settings of a run by name, as text: "cp" → "4". Values that every run chooses anew, such as
/// the number of cores, are left out.
using RunSettings = std::map<std::string, std::string>;

RunSettings listSettings(const traces::RunSpec& run);

/// One setting in the words of a list.
struct SettingWord {
  std::string text;                ///< "cp 8", "striped"
  bool differs_from_next = false;  ///< from the recording below it in the list
};

/// Returns the settings that differ from the default, and those that differ from the next
/// recording. `next` is empty when nothing can be compared.
std::vector<SettingWord> describeDifferences(const RunSettings& run, const RunSettings& next);

}  // namespace ringscope::viz
