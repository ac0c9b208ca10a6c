// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/head_agreement.h"

#include <algorithm>
#include <map>

#include "traces/analysis/verify/recompute/selection.h"

namespace ringscope::traces {

bool agreesInEachHead(const LayerTensors& layer, const Selection& selection,
                      const AttentionMask& mask, const TensorCheck& compared) {
  std::map<std::size_t, bool> agrees;
  for (std::size_t row = 0; row < compared.ratios.size(); ++row) {
    const TokenRun keys = mask.keysFor(layer.tokens[tokenIndex(selection, row)]);
    if (keys.end - keys.begin < 2) continue;
    bool& head = agrees[headIndex(layer, selection, row)];
    head = head || compared.ratios[row] <= 1;
  }
  return std::ranges::all_of(agrees, [](const auto& head) { return head.second; });
}

}  // namespace ringscope::traces
