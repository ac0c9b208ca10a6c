// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"
#include "traces/core/error.h"
#include "traces/mistakes/catalogue.h"

namespace ringscope::engine {

void injectMissingPositionIds(Seams& seams);
void injectNaiveSumMerge(Seams& seams);
void injectMissingCpGradReduce(Seams& seams);

const std::vector<InjectableMistake>& injectableMistakes() {
  static const std::vector<InjectableMistake> kMistakes = {
      {"missing_position_ids", injectMissingPositionIds},
      {"naive_sum_merge", injectNaiveSumMerge},
      {"missing_cp_grad_reduce", injectMissingCpGradReduce},
  };
  return kMistakes;
}

void inject(const std::string& id, Seams& seams) {
  std::string known;
  for (const InjectableMistake& mistake : injectableMistakes()) {
    if (mistake.id == id) return mistake.inject(seams);
    known += (known.empty() ? "" : ", ") + mistake.id;
  }
  const bool listed = traces::findMistake(id) != nullptr;
  throw usageError(
      "the mistake '" + id + "' " +
      (listed ? "is in the catalogue but cannot be injected" : "is not in the catalogue") +
      "; these can be: " + known);
}

}  // namespace ringscope::engine
