// SPDX-License-Identifier: Apache-2.0
// One attention layer of four ranks with 8 tokens each, whose attention and batch a test chooses.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/recorded_layer.h"
#include "tests/support/trace_builder.h"

namespace ringscope::test {

inline constexpr std::int64_t kRanks = 4, kOwn = 8, kLength = kRanks * kOwn, kWidth = 8, kBatch = 2;

inline LayerSpec jobOfFourRanks() {
  LayerSpec spec{{"0-8", "8-16", "16-24", "24-32"}};
  spec.run = "command=import";
  spec.intent = "mask=causal\nnote framework \"pytorch\"";
  spec.batch = kBatch;
  return spec;
}

/// A query and a key, by their tokens.
struct Pair {
  std::int64_t batch, query, key;
};
using Attends = std::function<bool(const Pair&)>;
/// Number that a token has, such as its position.
using OfToken = std::function<std::int64_t(std::int64_t)>;

inline bool isEarlier(const Pair& pair) {
  return pair.key <= pair.query;
}

/// Makes a layer whose output is attention of the keys that `attends` allows, with the values of
/// the token that `value` gives for a key.
inline void attendAs(
    RecordedLayer& layer, const Attends& attends,
    const std::function<std::int64_t(const Pair&)>& value =
        [](const Pair& pair) { return pair.key; },
    const std::function<double(const Pair&)>& bias = [](const Pair&) { return 0; }) {
  using traces::TensorKind;
  for (std::int64_t batch = 0; batch < kBatch; ++batch)
    for (std::int64_t head = 0; head < 2; ++head)
      for (std::int64_t query = 0; query < kLength; ++query) {
        const auto q = layer.row(TensorKind::kQ, batch, head, query);
        std::vector<double> sum(kWidth);
        double total = 0;
        for (std::int64_t key = 0; key < kLength; ++key) {
          const Pair pair{batch, query, key};
          if (!attends(pair)) continue;
          const auto k = layer.row(TensorKind::kK, batch, head, key),
                     v = layer.row(TensorKind::kV, batch, head, value(pair));
          double score = 0;
          for (std::size_t d = 0; d < kWidth; ++d) score += q[d] * k[d];
          const double weight =
              std::exp(score / std::sqrt(static_cast<double>(kWidth)) + bias(pair));
          total += weight;
          for (std::size_t d = 0; d < kWidth; ++d) sum[d] += weight * v[d];
        }
        const auto out = layer.row(TensorKind::kOut, batch, head, query);
        for (std::size_t d = 0; d < kWidth; ++d) out[d] = total > 0 ? sum[d] / total : 0;
      }
}

/// Adds whole numbers [rows, 8] of each rank's tokens as a tensor, [axes, 1, 8] with several axes.
inline void addNumbers(traces::Trace& trace, const traces::TensorName& name, const OfToken& number,
                       int rows = 1, bool axes = false) {
  for (std::int64_t rank = 0; rank < kRanks; ++rank) {
    std::vector<std::int64_t> ids;
    for (int row = 0; row < rows; ++row)
      for (std::int64_t token = rank * kOwn; token < (rank + 1) * kOwn; ++token)
        ids.push_back(number(token));
    traces::TensorRecord tensor;
    tensor.tensor = name;
    tensor.rank = traces::WorldRank::of(static_cast<std::int32_t>(rank));
    tensor.dtype = traces::DType::kInt64;
    tensor.shape = {rows, kOwn};
    if (axes) tensor.shape = {rows, 1, kOwn};
    tensor.stats.min = static_cast<double>(ids.front());
    tensor.stats.max = static_cast<double>(ids.back());
    tensor.hash = static_cast<std::uint64_t>(ids.front() + 1);
    traces::Bytes bytes(ids.size() * sizeof(std::int64_t));
    std::memcpy(bytes.data(), ids.data(), bytes.size());
    addTensor(trace, tensor, std::move(bytes));
  }
}
inline void addPositions(traces::Trace& trace, const OfToken& position) {
  addNumbers(trace, {traces::TensorKind::kPositionIds}, position);
}

/// Adds token ids of which each one differs from its neighbours, and the next ones as labels.
inline void addNextTokens(traces::Trace& trace) {
  const auto id = [](std::int64_t token) { return token * token % 61; };
  addNumbers(trace, {traces::TensorKind::kBuffer, "input_ids"}, id, kBatch);
  addNumbers(
      trace, {traces::TensorKind::kBuffer, "labels"},
      [&](std::int64_t token) { return token + 1 < kLength ? id(token + 1) : -100; }, kBatch);
}

inline std::shared_ptr<traces::Trace> recorded(const Attends& attends,
                                               const LayerSpec& spec = jobOfFourRanks()) {
  RecordedLayer layer(spec);
  attendAs(layer, attends);
  return layer.record();
}

}  // namespace ringscope::test
