// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/attended_blocks.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/verify/recompute/sixteen_bits.h"
#include "traces/analysis/verify/rounding/roundoff.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kMostBlockTokens = 4096;

std::optional<TokenRows> rowsAt(const Trace& trace, TensorKind kind, const Place& place,
                                WorldRank rank, bool tokens_first) {
  const TensorRecord* record = trace.findTensor({kind, ""}, place, rank);
  if (!record || record->shape.size() != 4 ||
      record->shape[tokens_first ? 1 : 2] > kMostBlockTokens)
    return std::nullopt;
  auto values = trace.values(*record);
  if (!values || values->empty()) return std::nullopt;
  return TokenRows(*std::move(values), record->shape, tokens_first);
}

std::optional<AttendedBlock> blockAt(const Trace& trace, const Place& place, WorldRank rank,
                                     bool tokens_first) {
  const auto rows = [&](TensorKind kind) { return rowsAt(trace, kind, place, rank, tokens_first); };
  auto q = rows(TensorKind::kQ), k = rows(TensorKind::kK), v = rows(TensorKind::kV),
       out = rows(TensorKind::kOut);
  if (!q || !k || !v || !out || q->tokens() != k->tokens() || v->tokens() != k->tokens() ||
      v->heads() != k->heads() || q->heads() % k->heads() != 0 || q->width() != k->width() ||
      out->tokens() != q->tokens() || out->heads() != q->heads() || out->width() != v->width() ||
      q->entries() != k->entries())
    return std::nullopt;
  return AttendedBlock{rank, *std::move(q), *std::move(k), *std::move(v), *std::move(out)};
}

}  // namespace

std::vector<AttendedBlock> readBlocksAt(const Trace& trace, const Place& place,
                                        const std::vector<WorldRank>& members, bool tokens_first) {
  std::vector<AttendedBlock> blocks;
  for (const WorldRank rank : members) {
    auto own = blockAt(trace, place, rank, tokens_first);
    if (!own) return {};
    const bool alike = blocks.empty() || (own->k.tokens() == blocks.front().k.tokens() &&
                                          own->k.entries() == blocks.front().k.entries() &&
                                          own->k.heads() == blocks.front().k.heads());
    if (!alike) return {};
    blocks.push_back(*std::move(own));
  }
  return blocks;
}

std::vector<Place> firstAttentions(const Trace& trace, std::size_t most) {
  std::vector<Place> places;
  for (const TensorRecord& k : trace.tensors()) {
    if (places.size() >= most) break;
    const bool is_forward = k.place.direction == Direction::kForward && k.place.layer.exists() &&
                            !k.place.stage.exists();
    if (k.tensor.kind == TensorKind::kK && is_forward && k.shape.size() == 4 && k.has_values &&
        std::ranges::count(places, k.place) == 0)
      places.push_back(k.place);
  }
  return places;
}

double rowTolerance(const Trace& trace, const Place& place) {
  double roundoff = 0;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.place != place || tensor.tensor.kind != TensorKind::kOut) continue;
    roundoff = std::max(roundoff, unitRoundoff(tensor.dtype));
    const auto values = trace.values(tensor);  // of 16 bits, whatever their type
    if (values && fitSixteenBits(*values)) roundoff = std::max(roundoff, 0x1p-8);
  }
  return 1e-4 + 4 * roundoff;
}

void PartialRow::add(const PartialRow& other) {
  weight += other.weight;
  largest = std::max(largest, other.largest);
  sum.resize(std::max(sum.size(), other.sum.size()));
  for (std::size_t d = 0; d < other.sum.size(); ++d) sum[d] += other.sum[d];
}

double PartialRow::distance(std::span<const double> out) const {
  double off = 0;
  for (std::size_t d = 0; d < out.size(); ++d) {
    const double right = weight > 0 && d < sum.size() ? sum[d] / weight : 0;
    off = std::max(off, std::abs(right - out[d]));
  }
  return largest > 0 ? off / largest : off;
}

PartialRow attendPart(std::span<const double> q, const AttendedBlock& keys,
                      const AttendedBlock& values, std::size_t entry, std::size_t kv_head,
                      std::size_t begin, std::size_t end) {
  PartialRow part;
  part.sum.assign(values.v.width(), 0);
  const double scale = 1 / std::sqrt(static_cast<double>(q.size()));
  for (std::size_t key = begin; key < end; ++key) {
    const auto k = keys.k.at(entry, kv_head, key), v = values.v.at(entry, kv_head, key);
    double score = 0;
    for (std::size_t d = 0; d < q.size(); ++d) score += q[d] * k[d];
    const double weight = std::exp(score * scale);
    part.weight += weight;
    for (std::size_t d = 0; d < v.size(); ++d) {
      part.sum[d] += weight * v[d];
      part.largest = std::max(part.largest, std::abs(v[d]));
    }
  }
  return part;
}

}  // namespace ringscope::traces
