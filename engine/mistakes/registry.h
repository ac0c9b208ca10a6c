// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// A mistake that can be injected: an id of the catalogue, and the change of the seams.
struct InjectableMistake {
  std::string id;
  void (*inject)(Seams& seams);
  /// Reports whether the mistake changes how sequences are dealt, which a run decides before its
  /// first step.
  bool from_start_only = false;
  /// The limits that the mistake takes, among "rank", "layer" and "step". A mistake of one rank
  /// must not leave others waiting, and a mistake that is made outside of the layers has no layer.
  std::vector<std::string> places{};
  /// The limits that `placed` draws when they are not requested: mistakes of a single rank.
  std::vector<std::string> drawn{};
  /// The default buffer of a mistake that can concern any buffer; empty for the other mistakes.
  std::string buffer{};
};

/// Returns all injectable mistakes. A new one is `injectable` in its catalogue entry, a function in
/// the file of its subject in this folder, and a declaration and a line in registry.cpp.
const std::vector<InjectableMistake>& injectableMistakes();

/// Throws usageError when the id is not in the catalogue or cannot be injected. The message lists
/// the mistakes that can be injected.
const InjectableMistake& injectableMistake(const std::string& id);
/// Returns the request with the limits in `drawn` that it lacks, drawn from the run's seed:
/// "nan_from_one_rank" becomes "nan_from_one_rank:rank=1,layer=0". Throws as `inject` does.
std::string placed(const std::string& asked, const traces::RunSpec& run);
/// Makes a mistake in the seams. `asked` is an id, or an id with limits
/// (traces/analysis/mistakes/needs/asked_mistake.h). Throws usageError when the limits cannot be
/// read, or the mistake does not take them. The seams' checks refuse a run that lacks the requested
/// rank, layer or step.
void inject(const std::string& asked, Seams& seams);

}  // namespace ringscope::engine
