// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/unstated_mask.h"

#include <algorithm>
#include <set>

#include "traces/analysis/verify/recompute/dropped_part.h"
#include "traces/analysis/verify/recompute/selection.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kMostTries = 8, kMostNarrower = 64;

std::int64_t tokenAt(const LayerTensors& layer, const Selection& selection, std::size_t row) {
  return layer.tokens[tokenIndex(selection, row)].value();
}

/// Search for the mask of one layer.
class MaskSearch {
 public:
  MaskSearch(const Trace& trace, const LayerTensors& layer, const Selection& selection)
      : trace_(trace), layer_(layer), selection_(selection) {}

  std::optional<UnstatedMask> find(const AttentionMask& mask) const {
    const std::vector<std::int64_t> wrong = wrongTokens(mask);
    if (wrong.empty()) return std::nullopt;
    // The first wrong row lies behind the window, by little if far keys weigh little.
    const std::int64_t widest = wrong.front() - mask.keysFor(TokenIndex::of(wrong.front())).begin;
    for (std::int64_t tried = 0; tried < std::min(kMostTries, widest); ++tried)
      if (auto found = withWindow(mask, widest - tried)) return found;
    for (std::int64_t prefix = wrong.back() + 2; prefix < wrong.back() + 2 + kMostTries; ++prefix)
      if (!mask.by_document && agreesWithPrefix(trace_, layer_, selection_, prefix))
        return UnstatedMask{true,
                            mask,
                            {},
                            "the recorded output agrees with attention whose first " +
                                describeCount(prefix, "token") +
                                " attend all of each other, which nothing recorded states"};
    return std::nullopt;
  }

 private:
  bool agrees(const AttentionMask& mask) const {
    return comparedOut(trace_, layer_, selection_, mask).worst.ratio() <= 1;
  }

  /// Returns the tokens of rows that are wrong under a mask, ascending.
  std::vector<std::int64_t> wrongTokens(const AttentionMask& mask) const {
    const TensorCheck out = comparedOut(trace_, layer_, selection_, mask);
    std::set<std::int64_t> tokens;
    for (std::size_t row = 0; row < out.ratios.size(); ++row)
      if (out.ratios[row] > 1) tokens.insert(tokenAt(layer_, selection_, row));
    return {tokens.begin(), tokens.end()};
  }

  /// Tries a sliding window, and narrower ones as long as the output agrees with them too.
  std::optional<UnstatedMask> withWindow(AttentionMask mask, std::int64_t window) const {
    mask.window = window;
    if (!agrees(mask)) return std::nullopt;
    UnstatedMask found{false, mask, {}, ""};
    while (--mask.window > std::max<std::int64_t>(0, window - kMostNarrower) && agrees(mask))
      found.narrower.push_back(mask);
    const std::string narrowest = std::to_string(mask.window + 1);
    found.words = "the recorded output agrees with " +
                  (found.narrower.empty() ? "a sliding window of "
                                          : "sliding windows of " + narrowest + " to ") +
                  describeCount(window, "key") + ", which nothing recorded states";
    return found;
  }

  const Trace& trace_;
  const LayerTensors& layer_;
  const Selection& selection_;
};

}  // namespace

std::optional<UnstatedMask> findUnstatedMask(const Trace& trace, const LayerTensors& layer,
                                             const Selection& selection,
                                             const AttentionMask& mask) {
  if (!hasRecognisedAttention(trace) || !mask.causal || mask.window > 0) return std::nullopt;
  return MaskSearch(trace, layer, selection).find(mask);
}

bool agreesWithPrefix(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                      std::int64_t prefix) {
  const std::int64_t length = layer.tokens.back().value() + 1;
  if (prefix >= length) return false;
  const AttentionMask halves{false, 0, true, {{0, prefix}, {prefix, length}}};
  const TensorCheck out = comparedOut(trace, layer, selection, halves);
  for (std::size_t row = 0; row < out.ratios.size(); ++row)
    if (tokenAt(layer, selection, row) < prefix && !(out.ratios[row] <= 1)) return false;
  return true;
}

}  // namespace ringscope::traces
