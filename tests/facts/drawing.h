// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/facts/facts_case.h"

namespace ringscope::facts {

/// One attention of random tensors: every strategy, mask, layout and type, one to sixteen ranks.
Case drawnAttention(std::mt19937& random);
/// A few steps of training a small Llama on random tokens, over a random mesh.
Case drawnTraining(std::mt19937& random);

/// A number from `least` to `most`.
inline int drawn(std::mt19937& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}
template <typename T>
T oneOf(std::mt19937& random, const std::vector<T>& list) {
  return list[random() % list.size()];
}
/// Documents of random lengths, of all of the sequence or with padding between.
std::vector<Span> drawnDocuments(std::mt19937& random, int length, bool with_gaps);

}  // namespace ringscope::facts
