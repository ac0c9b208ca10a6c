// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/row_keys.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/verify/recompute/attended_rows.h"
#include "traces/analysis/verify/recompute/meant_attention.h"
#include "traces/analysis/verify/recompute/selection.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The largest numbers of keys for which all pairs of runs, and all runs, are tried. Numbers of 16
/// bits agree with many runs in one element, so fewer pairs are tried.
constexpr std::int64_t kFewKeys = 256, kFewInSixteenBits = 96, kManyKeys = 4096;

bool has(const TokenRun& run, std::int64_t key) {
  return run.begin <= key && key < run.end;
}

/// Search for the keys of one row. Attention of keys S gives out when the sum over S of
/// weight · (v − out) is 0, less the sink's weight · out. Sums of runs are differences of sums from
/// key 0 on.
class KeySearch {
 public:
  KeySearch(const RowOfUnknownKeys& row, std::int64_t own)
      : width_(row.out.size()),
        keys_(static_cast<std::int64_t>(row.weights.size())),
        own_(own),
        in_sixteen_bits_(row.tolerance > kToleranceOfRow),
        out_(row.out),
        sink_(row.sink) {
    double largest = 0;
    sums_.assign(width_, 0);
    weights_.assign(1, 0);
    for (std::size_t key = 0; key < row.weights.size(); ++key) {
      double size = 0;
      for (std::size_t d = 0; d < width_; ++d) {
        const double v = row.v[key * width_ + d];
        size += v * v;
        sums_.push_back(sums_[key * width_ + d] + row.weights[key] * (v - row.out[d]));
      }
      largest = std::max(largest, size);
      weights_.push_back(weights_.back() + row.weights[key]);
    }
    tolerance_ = row.tolerance * std::sqrt(largest);
  }

  /// Looks for keys with the own one first, because other keys can have equal values.
  std::optional<std::vector<TokenRun>> find() {
    auto found = search();
    needs_own_ = false;
    return found ? found : search();
  }

 private:
  std::optional<std::vector<TokenRun>> search() const {
    if (keys_ > kManyKeys) return findToOwn();
    if (keys_ > (in_sixteen_bits_ ? kFewInSixteenBits : kFewKeys)) return findAnchored();
    std::vector<TokenRun> runs;
    for (std::int64_t begin = 0; begin < keys_; ++begin)
      for (std::int64_t end = begin + 1; end <= keys_; ++end) {
        if (isRight({begin, end}, {end, end})) return std::vector{TokenRun{begin, end}};
        runs.push_back({begin, end});
      }
    return findPair(runs);
  }

  double at(std::int64_t key, std::size_t d) const {
    return sums_[static_cast<std::size_t>(key) * width_ + d];
  }
  double sum(const TokenRun& run, std::size_t d) const { return at(run.end, d) - at(run.begin, d); }
  double weight(const TokenRun& run) const {
    return weights_[static_cast<std::size_t>(run.end)] -
           weights_[static_cast<std::size_t>(run.begin)];
  }

  bool isRight(const TokenRun& one, const TokenRun& other) const {
    if (needs_own_ && !has(one, own_) && !has(other, own_)) return false;
    const double most = tolerance_ * (weight(one) + weight(other) + sink_);
    double square = 0;
    for (std::size_t d = 0; d < width_; ++d) {
      const double off = sum(one, d) + sum(other, d) - sink_ * out_[d];
      square += off * off;
      if (square > most * most) return false;
    }
    return most > 0;
  }

  /// Tries one run that ends at the own key.
  std::optional<std::vector<TokenRun>> findToOwn() const {
    for (std::int64_t begin = 0; begin <= own_; ++begin)
      if (isRight({begin, own_ + 1}, {keys_, keys_})) return std::vector{TokenRun{begin, own_ + 1}};
    return std::nullopt;
  }

  /// Tries one run, and a first run from key 0 with one that ends at the own key.
  std::optional<std::vector<TokenRun>> findAnchored() const {
    for (std::int64_t begin = 0; begin < keys_; ++begin)
      for (std::int64_t end = begin + 1; end <= keys_; ++end)
        if (isRight({begin, end}, {end, end})) return std::vector{TokenRun{begin, end}};
    for (std::int64_t first = 1; first < own_; ++first)
      for (std::int64_t begin = first + 1; begin <= own_; ++begin)
        if (isRight({0, first}, {begin, own_ + 1}))
          return std::vector{TokenRun{0, first}, TokenRun{begin, own_ + 1}};
    return std::nullopt;
  }

  /// Tries two runs. Their sums in the first element are opposite, so they are found in order.
  std::optional<std::vector<TokenRun>> findPair(std::vector<TokenRun> runs) const {
    std::ranges::sort(runs, {}, [&](const TokenRun& run) { return sum(run, 0); });
    const double room = tolerance_ * (weights_.back() + sink_);
    for (const TokenRun& one : runs) {
      const double wanted = sink_ * out_[0] - sum(one, 0);
      auto other = std::ranges::lower_bound(runs, wanted - room, {},
                                            [&](const TokenRun& run) { return sum(run, 0); });
      for (; other != runs.end() && sum(*other, 0) <= wanted + room; ++other)
        if (one.end < other->begin && isRight(one, *other)) return std::vector{one, *other};
    }
    return std::nullopt;
  }

  std::size_t width_;
  std::int64_t keys_, own_;
  bool in_sixteen_bits_, needs_own_ = true;
  std::span<const double> out_;
  double sink_;
  double tolerance_ = 0;
  std::vector<double> sums_, weights_;  // of the keys before each key
};

std::string describeKeys(const LayerTensors& layer, const std::vector<TokenRun>& runs) {
  std::string text;
  for (const TokenRun& run : runs) {
    const std::int64_t first = layer.tokens[static_cast<std::size_t>(run.begin)].value(),
                       last = layer.tokens[static_cast<std::size_t>(run.end - 1)].value();
    text += (text.empty() ? "" : " and ") + std::to_string(first);
    if (last > first) text += " to " + std::to_string(last);
  }
  return text.empty()
             ? "no token"
             : (runs.size() == 1 && runs[0].end - runs[0].begin == 1 ? "token " : "tokens ") + text;
}

}  // namespace

std::optional<std::vector<TokenRun>> findRowKeys(const RowOfUnknownKeys& row, std::int64_t own) {
  if (std::ranges::all_of(row.out, [](double x) { return x == 0; })) return std::vector<TokenRun>();
  return KeySearch(row, own).find();
}

std::optional<std::string> findOtherKeys(const Trace& trace, const LayerTensors& layer,
                                         const Selection& selection, const TensorCheck& out) {
  constexpr std::size_t kLooked = 24;
  constexpr std::int64_t kLeastWidth = 4;  // fewer numbers per row agree by chance
  if (layer.head_dim < kLeastWidth) return std::nullopt;
  auto sinks = sinkLogits(trace, layer);
  if (!sinks) return std::nullopt;
  std::vector<std::size_t> wrong;
  for (std::size_t row = 0; row < out.ratios.size(); ++row)
    if (!(out.ratios[row] <= 1)) wrong.push_back(row);
  if (wrong.empty()) return std::nullopt;
  const AttendedRows rows(trace, layer, selection, *std::move(sinks));
  std::string words;
  const std::size_t looked = std::min(kLooked, wrong.size());
  for (std::size_t i = 0; i < looked; ++i) {
    const std::size_t row = wrong[i * wrong.size() / looked];
    const auto keys = rows.keys(row);
    if (!keys) return std::nullopt;
    if (words.empty())
      words = "the row of token " + toString(layer.tokens[tokenIndex(selection, row)]) +
              " attends " + describeKeys(layer, *keys);
  }
  return "the recorded output agrees with attention of other keys (" + words +
         "); nothing recorded states which were meant, as ringscope.attention(q, k, v, causal=…) "
         "would";
}

}  // namespace ringscope::traces
