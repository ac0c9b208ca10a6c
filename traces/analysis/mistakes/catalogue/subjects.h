// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/mistakes/catalogue/mistake.h"

namespace ringscope::traces {

/// The parts of the catalogue, one file each.
std::vector<Mistake> tokensAndBuffersMistakes();
std::vector<Mistake> attentionMistakes();
std::vector<Mistake> ringMistakes();
std::vector<Mistake> lossAndGradientsMistakes();

}  // namespace ringscope::traces
