// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/dropout.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// Mixes a number into a random state, so that consecutive numbers give unrelated states (Steele et
/// al. 2014, SplitMix64).
std::uint64_t mixed(std::uint64_t state, std::int64_t number) {
  state += (static_cast<std::uint64_t>(number) + 1) * kGolden;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
  return state ^ (state >> 31);
}

}  // namespace

std::uint64_t seedOfLayer(std::uint64_t seed, std::int32_t train_step, traces::Layer layer) {
  return mixed(mixed(seed, train_step), layer.value());
}

at::Tensor keptPairs(const Dropout& dropout, const PairPlaces& places, std::int64_t sequences,
                     std::int64_t heads) {
  at::Tensor kept = at::empty({sequences, heads, static_cast<std::int64_t>(places.queries.size()),
                               static_cast<std::int64_t>(places.keys.size())},
                              at::kFloat);
  const auto weight = static_cast<float>(1 / (1 - dropout.p));
  const auto border = static_cast<std::uint64_t>(dropout.p * 0x1p53);
  auto* next = kept.mutable_data_ptr<float>();
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence)
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::uint64_t of_head =
          mixed(mixed(dropout.seed, places.first_sequence + sequence), places.first_head + head);
      for (const auto query : places.queries) {
        const std::uint64_t of_row = mixed(of_head, query.value());
        for (const auto key : places.keys)
          *next++ = (mixed(of_row, key.value()) >> 11) < border ? 0 : weight;
      }
    }
  return kept;
}

}  // namespace ringscope::engine
