// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/linear_biases.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/doctor/attended_blocks.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kFewBiasedTokens = 6, kBiasedRows = 4;
constexpr double kLeastSlope = 1e-3;

/// Attention of consecutive blocks with a bias of −slope · distance, for one head.
class BiasedHead {
 public:
  BiasedHead(const std::vector<AttendedBlock>& blocks, std::size_t entry, std::size_t head,
             double tolerance)
      : blocks_(blocks),
        entry_(entry),
        head_(head),
        kv_head_(head / (blocks.front().q.heads() / blocks.front().k.heads())),
        tolerance_(tolerance) {
    slope_ = slopeOfSecondRow();
  }

  double slope() const { return slope_; }

  /// Reports whether rows of a block agree with distances in the sequence, or of local indices.
  bool agrees(std::size_t block, bool locally) const {
    const std::size_t tokens = blocks_.front().q.tokens();
    for (std::size_t i = 0; i < kBiasedRows; ++i) {
      const std::size_t row = 2 + i * (tokens - 3) / (kBiasedRows - 1);
      if (!(distance(block, row, locally) <= tolerance_)) return false;
    }
    return true;
  }

 private:
  double score(std::size_t block, std::size_t row, std::size_t source, std::size_t key) const {
    const auto q = blocks_[block].q.at(entry_, head_, row),
               k = blocks_[source].k.at(entry_, kv_head_, key);
    double product = 0;
    for (std::size_t d = 0; d < q.size(); ++d) product += q[d] * k[d];
    return product / std::sqrt(static_cast<double>(q.size()));
  }

  /// Returns the slope that the second row of the first block shows, which attends two keys; NaN
  /// when it shows none.
  double slopeOfSecondRow() const {
    const auto out = blocks_[0].out.at(entry_, head_, 1), v0 = blocks_[0].v.at(entry_, kv_head_, 0),
               v1 = blocks_[0].v.at(entry_, kv_head_, 1);
    double along = 0, square = 0;
    for (std::size_t d = 0; d < out.size(); ++d) {
      along += (out[d] - v1[d]) * (v0[d] - v1[d]);
      square += (v0[d] - v1[d]) * (v0[d] - v1[d]);
    }
    const double first = along / square;  // weight of the first key
    return score(0, 1, 0, 0) - score(0, 1, 0, 1) - std::log(first / (1 - first));
  }

  double distance(std::size_t block, std::size_t row, bool locally) const {
    const std::size_t tokens = blocks_.front().k.tokens();
    PartialRow sum;
    for (std::size_t source = 0; source <= block; ++source)
      for (std::size_t key = 0; key < (source == block ? row + 1 : tokens); ++key) {
        const auto v = blocks_[source].v.at(entry_, kv_head_, key);
        const double apart = static_cast<double>(row) - static_cast<double>(key) +
                             (locally ? 0 : static_cast<double>((block - source) * tokens));
        PartialRow one;
        one.weight = std::exp(score(block, row, source, key) - slope_ * apart);
        for (const double x : v) {
          one.sum.push_back(one.weight * x);
          one.largest = std::max(one.largest, std::abs(x));
        }
        sum.add(one);
      }
    return sum.distance(blocks_[block].out.at(entry_, head_, row));
  }

  const std::vector<AttendedBlock>& blocks_;
  std::size_t entry_, head_, kv_head_;
  double tolerance_, slope_ = 0;
};

/// Reports whether each rank has the tokens that follow those of the rank before.
bool areConsecutive(const Trace& trace, std::int32_t train_step,
                    const std::vector<AttendedBlock>& blocks) {
  std::int64_t next = 0;
  for (const AttendedBlock& block : blocks) {
    const auto rows = static_cast<std::int64_t>(block.q.tokens());
    const auto tokens = ownTokens(trace, train_step, block.rank, rows);
    if (std::ssize(tokens) != rows || tokens.front().value() != next ||
        tokens.back().value() != next + rows - 1)
      return false;
    next += rows;
  }
  return true;
}

/// Reports whether every head of every batch entry shows local distances.
bool areLocal(const std::vector<AttendedBlock>& blocks, double tolerance) {
  bool has_slope = false;
  for (std::size_t entry = 0; entry < std::min<std::size_t>(2, blocks[0].q.entries()); ++entry)
    for (std::size_t head = 0; head < blocks[0].q.heads(); ++head) {
      const BiasedHead biased(blocks, entry, head, tolerance);
      if (!std::isfinite(biased.slope())) return false;
      has_slope = has_slope || std::abs(biased.slope()) > kLeastSlope;
      for (std::size_t block = 0; block < blocks.size(); ++block)
        if (!biased.agrees(block, true) || (block > 0 && biased.agrees(block, false))) return false;
    }
  return has_slope;
}

}  // namespace

std::optional<Finding> ringOfLocalDistances(const Trace& trace) {
  if (!isForeign(trace) || lacksGroups(trace)) return std::nullopt;
  for (const Place& place : firstAttentions(trace, 2))
    for (const auto& members : sequenceGroups(trace)) {
      const auto blocks = readBlocksAt(trace, place, members, false);
      if (blocks.size() < 2 || blocks[0].q.tokens() < kFewBiasedTokens ||
          !areConsecutive(trace, place.train_step, blocks) ||
          !areLocal(blocks, rowTolerance(trace, place)))
        continue;
      Finding finding{
          .confidence = Confidence::kLikely,
          .title = "No rule names it: linear biases count distances within blocks",
          .place = place,
          .rank = members[1],
          .buffer = "out",
          .evidence = "Rows of rank " + toString(members[0]) +
                      ", which attend its own keys alone, agree with scores that fall by the "
                      "distance of the key (ALiBi). Rows of all other ranks agree with the same "
                      "slopes only if the distance to a key of another rank is the difference of "
                      "local indices, and not of places in the sequence.",
          .remedy =
              "Compute the distance of a query and a key from their places in the sequence: add "
              "the number of tokens between the blocks to the difference of local indices."};
      finding.rule = kUnknownMistake;
      return finding;
    }
  return std::nullopt;
}

}  // namespace ringscope::traces
