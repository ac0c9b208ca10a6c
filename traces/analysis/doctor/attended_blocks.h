// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The values of one tensor of attention on one rank, with tokens in dimension 1 or 2 of four.
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

/// The inputs and the output of one attention on one rank: its own queries, keys and values.
struct AttendedBlock {
  WorldRank rank;
  TokenRows q, k, v, out;
};

/// Reads the attention of all members at a place. Returns nothing when a tensor or its values are
/// missing or too large, or when ranks have different shapes.
std::vector<AttendedBlock> readBlocksAt(const Trace& trace, const Place& place,
                                        const std::vector<WorldRank>& members, bool tokens_first);

/// Returns the places of the first recorded forward attentions with keys of ranks, at most `most`.
std::vector<Place> firstAttentions(const Trace& trace, std::size_t most);

/// The share of the largest element of v by which a recorded row may differ from attention.
double rowTolerance(const Trace& trace, const Place& place);

/// A row of attention before it is divided: the sum of weights, and of weighted values.
struct PartialRow {
  double weight = 0, largest = 0;  ///< largest: the largest element of v
  std::vector<double> sum;

  void add(const PartialRow& other);
  /// Returns how far a recorded row is from this one, in proportion to the largest element of v.
  double distance(std::span<const double> out) const;
};

/// Attends keys [begin, end) of one block with a query, and takes the values of another block.
PartialRow attendPart(std::span<const double> q, const AttendedBlock& keys,
                      const AttendedBlock& values, std::size_t entry, std::size_t kv_head,
                      std::size_t begin, std::size_t end);

}  // namespace ringscope::traces
