// SPDX-License-Identifier: Apache-2.0
#include "engine/data/padding.h"

#include <ATen/ATen.h>

#include <numeric>

#include "traces/format/core/floor_div.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

Padding padDocuments(const Mask& mask, std::int64_t unit) {
  Padding padding;
  padding.mask = mask;
  for (TokenRun& document : padding.mask.documents) {
    const std::int64_t begin = padding.length, size = document.end - document.begin;
    for (std::int64_t i = 0; i < size; ++i) padding.padded_index.push_back(begin + i);
    document = {begin, begin + size};
    padding.length += traces::roundUp(size, unit);
    padding.slots.push_back({begin, padding.length});
  }
  return padding;
}

bool coversAll(const Mask& mask, std::int64_t length) {
  std::int64_t next = 0;
  for (const TokenRun& document : mask.documents) {
    if (document.begin != next) return false;
    next = document.end;
  }
  return next == length;
}

}  // namespace

Padding paddingFor(std::int64_t length, const Mask& mask, Balance balance, int cp, bool pad) {
  const std::int64_t unit = traces::lengthUnit(balance, cp);
  if (pad && traces::dealsDocuments(balance) && coversAll(mask, length))
    return padDocuments(mask, unit);
  Padding padding{length, mask, traces::documentSlots(mask.documents, length), {}};
  padding.padded_index.resize(static_cast<std::size_t>(length));
  std::iota(padding.padded_index.begin(), padding.padded_index.end(), 0);
  if (!pad || length % unit == 0) return padding;
  padding.length = traces::roundUp(length, unit);
  if (padding.mask.documents.empty()) padding.mask.documents = {{0, length}};
  padding.slots = traces::documentSlots(padding.mask.documents, padding.length);
  return padding;
}

at::Tensor Padding::padded(const at::Tensor& t, std::int64_t dim) const {
  if (!needed()) return t;
  auto shape = t.sizes().vec();
  shape[static_cast<std::size_t>(dim)] = length;
  return at::zeros(shape, t.options()).index_copy_(dim, at::tensor(padded_index, at::kLong), t);
}

at::Tensor Padding::unpadded(const at::Tensor& t, std::int64_t dim) const {
  return needed() ? t.index_select(dim, at::tensor(padded_index, at::kLong)) : t;
}

}  // namespace ringscope::engine
