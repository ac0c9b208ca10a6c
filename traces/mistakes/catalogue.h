// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::traces {

/// A mistake that people really make with context parallelism.
struct Mistake {
  std::string id;
  std::string title;        ///< what goes wrong
  std::string look_for;     ///< its evidence in a recording
  std::string reported_in;  ///< public issues and code where it was met
};

const std::vector<Mistake>& mistakeCatalogue();
/// Null when there is no mistake of this id.
const Mistake* findMistake(const std::string& id);

}  // namespace ringscope::traces
