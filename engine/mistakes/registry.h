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
  /// What it can be limited to, of "rank", "layer" and "step": a mistake of one rank must not leave
  /// others waiting, and one that is made outside of the layers has none.
  std::vector<std::string> places{};
  /// Those of `places` that `placed` draws where they are not asked for: what one rank does wrong.
  std::vector<std::string> drawn{};
  /// Where it can be made of any buffer: of which, if none is asked for.
  std::string buffer{};
};

/// All of them; a new one is `injectable` in its catalogue entry, a file in this folder and a line
/// in registry.cpp.
const std::vector<InjectableMistake>& injectableMistakes();

/// Throws usageError when the id is not in the catalogue, or cannot be injected; lists those that
/// can.
const InjectableMistake& injectableMistake(const std::string& id);
/// What was asked for with the places that the mistake wants and that are not said, drawn from the
/// run's seed: "nan_from_one_rank" becomes "nan_from_one_rank:rank=1,layer=0". Throws as `inject`.
std::string placed(const std::string& asked, const traces::RunSpec& run);
/// `asked` is an id, or an id with where alone it is made
/// (traces/analysis/mistakes/needs/asked_mistake.h). Throws usageError where that is no place, or
/// the mistake cannot be limited so; a run without such a rank, layer or step is refused by the
/// seams' checks.
void inject(const std::string& asked, Seams& seams);

}  // namespace ringscope::engine
