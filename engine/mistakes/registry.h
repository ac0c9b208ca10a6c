// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// A mistake that can be injected: an id of the catalogue and what it does to the seams.
struct InjectableMistake {
  std::string id;
  void (*inject)(Seams& seams);
  /// It changes how sequences are dealt, which a run decides before its first step.
  bool from_start_only = false;
};

/// All of them; a new one is `injectable` in its catalogue entry, a file in this folder and a line
/// in registry.cpp.
const std::vector<InjectableMistake>& injectableMistakes();

/// Throws usageError when the id is not in the catalogue, or cannot be injected; lists those that
/// can.
const InjectableMistake& injectableMistake(const std::string& id);
void inject(const std::string& id, Seams& seams);

}  // namespace ringscope::engine
