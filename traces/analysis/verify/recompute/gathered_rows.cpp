// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "traces/analysis/verify/recompute/fp8.h"
#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {
namespace {

std::size_t count(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// A copier of the rows of a selection from the ranks' tensors.
class RowCopier {
 public:
  RowCopier(const LayerTensors& layer, TensorKind kind, const Selection& selection)
      : selection_(selection),
        heads_(isOfKeys(kind) ? 1 : layer.groupSize()),
        width_(kind == TensorKind::kLse ? 1 : layer.head_dim) {
    row_of_token_.assign(layer.tokens.size(), kNowhere);
    if (isOfKeys(kind)) {
      std::iota(row_of_token_.begin(), row_of_token_.end(), 0);
      rows_ = layer.tokens.size();
    } else {
      for (const std::size_t token : selection.rows) row_of_token_[token] = rows_++;
    }
    result.ranks.resize(selection.groups.size() * count(heads_) * rows_);
    result.values.assign(result.ranks.size() * count(width_), 0);
  }

  void copy(const RankTensor& part, const std::vector<double>& values) {
    for (std::size_t g = 0; g < selection_.groups.size(); ++g)
      for (std::size_t h = 0; h < part.heads.size(); ++h) {
        if (part.heads[h] / heads_ != selection_.groups[g].kv_head) continue;
        const std::size_t to = g * count(heads_) + count(part.heads[h] % heads_);
        const std::size_t from = count(selection_.groups[g].batch) * part.heads.size() + h;
        copyHead(part, values, from, to);
      }
  }

  GatheredRows result;

 private:
  static constexpr auto kNowhere = std::numeric_limits<std::size_t>::max();

  void copyHead(const RankTensor& part, const std::vector<double>& values, std::size_t from,
                std::size_t to) {
    for (std::size_t s = 0; s < part.tokens.size(); ++s) {
      const std::size_t row = row_of_token_[part.tokens[s]];
      if (row == kNowhere) continue;
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(
                                              (from * part.tokens.size() + s) * count(width_));
      std::copy_n(
          begin, width_,
          result.values.begin() + static_cast<std::ptrdiff_t>((to * rows_ + row) * count(width_)));
      result.ranks[to * rows_ + row] = part.rank;
    }
  }

  const Selection& selection_;
  std::int64_t heads_, width_;
  std::size_t rows_ = 0;
  std::vector<std::size_t> row_of_token_;
};

}  // namespace

RecordedLayers recordedLayers(const Trace& trace) {
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
  RecordedLayers layers;
  std::set<Key> all, listed;
  for (const TensorRecord& tensor : trace.tensors()) {
    const TensorKind kind = tensor.tensor.kind;
    if (kind != TensorKind::kQ && kind != TensorKind::kOut) continue;
    const Key key{tensor.place.train_step, tensor.place.layer.value(), tensor.microbatch};
    all.insert(key);
    if (tensor.has_values && listed.insert(key).second)
      layers.with_values.push_back(
          {tensor.place.train_step, tensor.place.layer, tensor.microbatch});
  }
  layers.without_values = static_cast<std::int64_t>(all.size() - listed.size());
  return layers;
}

GatheredRows LayerTensors::values(const Trace& trace, TensorKind kind,
                                  const Selection& selection) const {
  RowCopier copier(*this, kind, selection);
  const auto parts = tensors.find(kind);
  if (parts == tensors.end()) return std::move(copier.result);
  const bool rounded = trace.run() && trace.run()->fp8 && std::ranges::count(kAttended, kind) > 0;
  for (const RankTensor& part : parts->second) {
    auto recorded = trace.values(*part.record);
    if (!recorded) continue;
    if (rounded) roundRowsToFp8(*recorded, count(head_dim), part.record->dtype);
    copier.copy(part, *recorded);
  }
  return std::move(copier.result);
}

}  // namespace ringscope::traces
