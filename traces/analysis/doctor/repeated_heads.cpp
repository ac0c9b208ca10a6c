// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/repeated_heads.h"

#include <algorithm>
#include <string>
#include <vector>

#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kManyRows = 16;
constexpr std::int64_t kMostHeads = 64;

/// Returns the first head that each KV head equals, in some rows of the first batch entry.
std::vector<std::size_t> firstEquals(const Trace& trace, const LayerTensors& layer) {
  Selection selection;
  for (std::size_t row = 0; row < std::min(kManyRows, layer.tokens.size()); ++row)
    selection.rows.push_back(row);
  std::vector<std::vector<double>> heads;
  std::vector<std::size_t> equals;
  for (std::int64_t head = 0; head < layer.kv_heads; ++head) {
    selection.groups = {{0, head}};
    heads.push_back(layer.values(trace, TensorKind::kK, selection).values);
    equals.push_back(
        static_cast<std::size_t>(std::ranges::find(heads, heads.back()) - heads.begin()));
  }
  return equals;
}

}  // namespace

std::optional<Finding> findTiledHeads(const Trace& trace, const LayerTensors& layer) {
  if (layer.kv_heads < 4 || layer.kv_heads > kMostHeads || layer.groupSize() < 2)
    return std::nullopt;
  const std::vector<std::size_t> equals = firstEquals(trace, layer);
  const auto again = std::ranges::find(equals.begin() + 1, equals.end(), std::size_t{0});
  const auto distinct = static_cast<std::size_t>(again - equals.begin());
  if (distinct < 2 || again == equals.end()) return std::nullopt;
  for (std::size_t head = 0; head < equals.size(); ++head)
    if (equals[head] != head % distinct) return std::nullopt;
  const auto count = static_cast<std::int64_t>(distinct);
  return Finding{
      .confidence = Confidence::kLikely,
      .title = "KV heads are repeated as a block",
      .place = {layer.pass.train_step, layer.pass.layer, Direction::kForward, {}},
      .buffer = "k",
      .evidence = "Attention has " + describeCount(layer.kv_heads, "KV head") + ", of which " +
                  std::to_string(count) + " differ: head " + std::to_string(count) +
                  " equals head 0, and so on. " + std::to_string(layer.groupSize()) +
                  " query heads in a row attend each. So the query heads that attend one of the " +
                  std::to_string(count) + " neither follow each other nor alternate.",
      .remedy =
          "Repeat each KV head next to itself, by k.repeat_interleave(n, dim), before the "
          "all-to-all gives each rank its heads; k.repeat repeats all of them as a block."};
}

}  // namespace ringscope::traces
