// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/repeated_keys.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kFewCommonTokens = 4, kMostKeyTokens = 4096, kMostSampledRows = 8;

/// The values of one tensor on one rank, with tokens in dimension 1 or 2 of four.
class TokenRows {
 public:
  TokenRows(std::vector<double> values, const std::vector<std::int64_t>& shape, bool tokens_first)
      : values_(std::move(values)),
        tokens_(static_cast<std::size_t>(shape[tokens_first ? 1 : 2])),
        heads_(static_cast<std::size_t>(shape[tokens_first ? 2 : 1])),
        width_(static_cast<std::size_t>(shape[3])),
        tokens_first_(tokens_first) {}

  std::size_t tokens() const { return tokens_; }
  std::size_t heads() const { return heads_; }
  std::size_t width() const { return width_; }
  std::size_t entries() const { return values_.size() / (tokens_ * heads_ * width_); }

  std::span<const double> at(std::size_t entry, std::size_t head, std::size_t token) const {
    const std::size_t row = tokens_first_ ? (entry * tokens_ + token) * heads_ + head
                                          : (entry * heads_ + head) * tokens_ + token;
    return std::span(values_).subspan(row * width_, width_);
  }

 private:
  std::vector<double> values_;
  std::size_t tokens_, heads_, width_;
  bool tokens_first_;
};

/// The inputs and the output of one attention on one rank.
struct Attended {
  TokenRows q, k, v, out;
};

/// Reads one rank's attention; nullopt when a tensor or its values are missing, or too large.
std::optional<Attended> readAttended(const Trace& trace, const Place& place, WorldRank rank,
                                     bool tokens_first) {
  const auto rows = [&](TensorKind kind) -> std::optional<TokenRows> {
    const TensorRecord* record = trace.findTensor({kind, ""}, place, rank);
    if (!record || record->shape.size() != 4) return std::nullopt;
    if (record->shape[tokens_first ? 1 : 2] > static_cast<std::int64_t>(kMostKeyTokens))
      return std::nullopt;
    auto values = trace.values(*record);
    if (!values || values->empty()) return std::nullopt;
    return TokenRows(*std::move(values), record->shape, tokens_first);
  };
  auto q = rows(TensorKind::kQ), k = rows(TensorKind::kK), v = rows(TensorKind::kV),
       out = rows(TensorKind::kOut);
  if (!q || !k || !v || !out || q->tokens() != k->tokens() || q->heads() % k->heads() != 0 ||
      out->tokens() != q->tokens() || out->heads() != q->heads())
    return std::nullopt;
  return Attended{*std::move(q), *std::move(k), *std::move(v), *std::move(out)};
}

bool isSameRow(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b);
}

/// Reports whether the keys and values of a token are the same on all ranks, in all heads and batch
/// entries.
bool isCommon(const std::vector<Attended>& ranks, std::size_t token) {
  const Attended& first = ranks.front();
  for (const Attended& other : ranks)
    for (std::size_t entry = 0; entry < first.k.entries(); ++entry)
      for (std::size_t head = 0; head < first.k.heads(); ++head)
        if (!isSameRow(first.k.at(entry, head, token), other.k.at(entry, head, token)) ||
            !isSameRow(first.v.at(entry, head, token), other.v.at(entry, head, token)))
          return false;
  return true;
}

/// Returns the number of first tokens that all ranks have alike; 0 when they do not differ among
/// each other, as padding does not.
std::size_t commonTokens(const std::vector<Attended>& ranks) {
  const TokenRows& k = ranks.front().k;
  std::size_t common = 0;
  while (common < k.tokens() && isCommon(ranks, common)) ++common;
  for (std::size_t token = 1; token < common; ++token)
    if (isSameRow(k.at(0, 0, token), k.at(0, 0, token - 1))) return 0;
  return common == k.tokens() ? 0 : common;
}

/// Returns how far a recorded row is from attention of all ranks' keys, in proportion to the
/// largest element of v. The first `once` tokens count on the first rank alone.
double distance(const std::vector<Attended>& ranks, const Attended& own, std::size_t head,
                std::size_t token, std::size_t once) {
  const auto q = own.q.at(0, head, token), out = own.out.at(0, head, token);
  const std::size_t kv = head / (own.q.heads() / own.k.heads());
  const double scale = 1 / std::sqrt(static_cast<double>(own.q.width()));
  std::vector<double> sum(out.size());
  double total = 0, largest = 0;
  for (const Attended& rank : ranks)
    for (std::size_t key = &rank == &ranks.front() ? 0 : once; key < rank.k.tokens(); ++key) {
      const auto k = rank.k.at(0, kv, key), v = rank.v.at(0, kv, key);
      double score = 0;
      for (std::size_t d = 0; d < k.size(); ++d) score += q[d] * k[d];
      const double weight = std::exp(score * scale);
      total += weight;
      for (std::size_t d = 0; d < out.size(); ++d) {
        sum[d] += weight * v[d];
        largest = std::max(largest, std::abs(v[d]));
      }
    }
  double off = 0;
  for (std::size_t d = 0; d < out.size(); ++d)
    off = std::max(off, std::abs(sum[d] / total - out[d]));
  return largest > 0 ? off / largest : 0;
}

/// Reports whether all sampled rows agree with keys that count on every rank, and none does with
/// keys that count once.
bool countsOnEveryRank(const std::vector<Attended>& ranks, std::size_t common, double tolerance) {
  for (const Attended& own : ranks) {
    const std::size_t step = std::max<std::size_t>(1, own.q.tokens() / kMostSampledRows);
    for (std::size_t token = 0; token < own.q.tokens(); token += step)
      for (const std::size_t head : {std::size_t{0}, own.q.heads() - 1})
        if (!(distance(ranks, own, head, token, 0) <= tolerance) ||
            !(distance(ranks, own, head, token, common) > tolerance))
          return false;
  }
  return true;
}

Finding findingAt(const Place& place, const std::vector<WorldRank>& members, std::size_t common) {
  const std::string tokens = describeCount(static_cast<std::int64_t>(common), "token");
  Finding finding{.confidence = Confidence::kLikely,
                  .title = "No rule names it: keys that all ranks have count once per rank",
                  .place = place,
                  .rank = members[1],
                  .buffer = "k",
                  .evidence = "The keys and values of the first " + tokens + " are the same on " +
                              describeCount(std::ssize(members), "rank") +
                              ". The recorded output agrees with attention that counts them once "
                              "for every rank, and with none that counts them once.",
                  .remedy =
                      "Leave tokens that every rank has out of what the ranks exchange: gather the "
                      "keys of the shards alone, and put the common keys before them once."};
  finding.rule = kUnknownMistake;
  return finding;
}

}  // namespace

std::optional<Finding> keysCountedOnEveryRank(const Trace& trace) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  std::vector<Place> seen;
  for (const TensorRecord& k : trace.tensors()) {
    if (k.tensor.kind != TensorKind::kK || !k.place.layer.exists() || k.place.stage.exists() ||
        k.place.direction != Direction::kForward || k.shape.size() != 4 ||
        std::ranges::count(seen, k.place) > 0)
      continue;
    if (seen.size() >= 2) break;  // other layers attend as the first ones do
    seen.push_back(k.place);
    const double tolerance = 1e-4 + 16 * unitRoundoff(k.dtype);
    for (const auto& members : sequenceGroups(trace))
      for (const bool tokens_first : {false, true}) {
        std::vector<Attended> ranks;
        for (const WorldRank rank : members)
          if (auto own = readAttended(trace, k.place, rank, tokens_first))
            ranks.push_back(*std::move(own));
        if (members.size() < 2 || ranks.size() != members.size()) continue;
        const bool alike = std::ranges::all_of(ranks, [&](const Attended& own) {
          return own.k.tokens() == ranks.front().k.tokens() &&
                 own.k.entries() == ranks.front().k.entries();
        });
        const std::size_t common = alike ? commonTokens(ranks) : 0;
        if (common >= kFewCommonTokens && countsOnEveryRank(ranks, common, tolerance))
          return findingAt(k.place, members, common);
      }
  }
  return std::nullopt;
}

}  // namespace ringscope::traces
