// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/attention.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kRowsAtOnce = 16;
constexpr std::int64_t kKeysAtOnce = 128;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A half-open run of key indices.
struct KeyRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return end <= begin; }
  bool holds(std::int64_t key) const { return begin <= key && key < end; }
};

KeyRange keyRange(const AttentionMask& mask, TokenIndex query,
                  const std::vector<TokenIndex>& k_tokens) {
  const TokenRun run = mask.keysFor(query);
  const auto at = [&](std::int64_t token) {
    return std::lower_bound(k_tokens.begin(), k_tokens.end(), TokenIndex::of(token)) -
           k_tokens.begin();
  };
  return run.end <= run.begin ? KeyRange{} : KeyRange{at(run.begin), at(run.end)};
}

bool holds(std::size_t size, std::initializer_list<std::int64_t> extents) {
  auto rest = static_cast<std::int64_t>(size);
  for (const std::int64_t extent : extents) {
    if (extent == 0) return size == 0;
    if (extent < 0 || rest % extent != 0) return false;
    rest /= extent;
  }
  return rest == 1;
}

/// Computes sum += factor · values.
void addScaled(double* sum, double factor, const double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += factor * values[i];
}

/// Transposes a matrix [keys, width] to [width, keys].
std::vector<double> transposed(std::span<const double> matrix, std::int64_t width) {
  const auto columns = static_cast<std::size_t>(width), rows = matrix.size() / columns;
  std::vector<double> result(matrix.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = matrix[r * columns + c];
  return result;
}

/// Some rows of one head, with a matrix [rows, keys] per product, of which only `range` is filled.
struct Tile {
  std::int64_t first = 0, rows = 0;  ///< query rows
  std::vector<KeyRange> range_of;    ///< keys of each row
  KeyRange range;                    ///< keys of all rows together
};

/// Long sums are added up in parts of at most kKeysAtOnce terms. A plain sum of n terms is off by
/// the rounding of n partial sums, which would exceed the limits of runs in fp64.
class Attention {
 public:
  Attention(const AttentionInputs& in, const AttentionVisitor& visit)
      : in_(in), visit_(visit), width_(in.head_dim), keys_(in.keys()) {
    partial_.resize(static_cast<std::size_t>(width_));
    values_.out.assign(in.q.size(), 0);
    values_.lse.assign(static_cast<std::size_t>(in.batch * in.heads * in.rows()), -kInfinity);
    weights_.resize(static_cast<std::size_t>(kRowsAtOnce * keys_));
    if (in_.softcap > 0) slopes_.resize(weights_.size());
    if (!backward()) return;
    values_.delta.assign(values_.lse.size(), 0);
    values_.dq.assign(in.q.size(), 0);
    values_.dk.assign(in.k.size(), 0);
    values_.dv.assign(in.k.size(), 0);
    dscores_.resize(weights_.size());
  }

  AttentionValues run() {
    for (std::int64_t b = 0; b < in_.batch; ++b)
      for (std::int64_t h = 0; h < in_.heads; ++h) {
        if (h % in_.groupSize() == 0) beginKvHead(b * in_.kv_heads + h / in_.groupSize());
        head_ = b * in_.heads + h;
        for (std::int64_t row = 0; row < in_.rows(); row += kRowsAtOnce) computeTile(tileAt(row));
      }
    for (auto* gradient : {&values_.dq, &values_.dk})
      for (double& value : *gradient) value *= in_.scale;
    return std::move(values_);
  }

 private:
  bool backward() const { return !in_.dout.empty(); }

  void beginKvHead(std::int64_t kv_head) {
    const auto size = static_cast<std::size_t>(keys_ * width_);
    kv_at_ = static_cast<std::size_t>(kv_head) * size;
    k_transposed_ = transposed(in_.k.subspan(kv_at_, size), width_);
    if (backward()) v_transposed_ = transposed(in_.v.subspan(kv_at_, size), width_);
  }

  Tile tileAt(std::int64_t first) const {
    Tile tile{first, std::min(kRowsAtOnce, in_.rows() - first), {}, {keys_, 0}};
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const auto query = in_.q_tokens[static_cast<std::size_t>(first + r)];
      const KeyRange range = keyRange(in_.mask, query, in_.k_tokens);
      tile.range_of.push_back(range);
      if (range.empty()) continue;
      tile.range.begin = std::min(tile.range.begin, range.begin);
      tile.range.end = std::max(tile.range.end, range.end);
    }
    return tile;
  }

  /// Returns the index of a row among all rows of all heads.
  std::size_t rowIndex(const Tile& tile, std::int64_t r) const {
    return static_cast<std::size_t>(head_ * in_.rows() + tile.first + r);
  }
  std::size_t rowAt(const Tile& tile, std::int64_t r) const {
    return rowIndex(tile, r) * static_cast<std::size_t>(width_);
  }
  double* tileRow(std::vector<double>& matrix, std::int64_t r) const {
    return matrix.data() + r * keys_;
  }

  void computeTile(const Tile& tile) {
    multiplyByTransposed(tile, in_.q, k_transposed_, weights_);
    for (std::int64_t r = 0; r < tile.rows; ++r) softmax(tile, r);
    addProducts(tile, weights_, in_.v, values_.out);
    if (backward()) computeGradients(tile);
    for (std::int64_t r = 0; visit_ && r < tile.rows; ++r) show(tile, r);
  }

  void computeGradients(const Tile& tile) {
    multiplyByTransposed(tile, in_.dout, v_transposed_, dscores_);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      double delta = 0;
      for (std::int64_t d = 0; d < width_; ++d) {
        const std::size_t i = rowAt(tile, r) + static_cast<std::size_t>(d);
        delta += in_.dout[i] * values_.out[i];
      }
      values_.delta[rowIndex(tile, r)] = delta;
      const double* weights = tileRow(weights_, r);
      double* dscores = tileRow(dscores_, r);
      const KeyRange range = tile.range_of[static_cast<std::size_t>(r)];
      const double* slopes = in_.softcap > 0 ? tileRow(slopes_, r) : nullptr;
      for (std::int64_t j = range.begin; j < range.end; ++j)
        dscores[j] = weights[j] * (dscores[j] - delta) * (slopes ? slopes[j] : 1);
    }
    addProducts(tile, dscores_, in_.k, values_.dq);
    addTransposedProducts(tile, weights_, in_.dout, values_.dv);
    addTransposedProducts(tile, dscores_, in_.q, values_.dk);
  }

  /// Computes result = rows · transposed over the tile's keys. Shapes: rows [.., width], transposed
  /// [width, keys].
  void multiplyByTransposed(const Tile& tile, std::span<const double> rows,
                            const std::vector<double>& transposed, std::vector<double>& result) {
    for (std::int64_t r = 0; r < tile.rows; ++r)
      std::fill(tileRow(result, r) + tile.range.begin,
                tileRow(result, r) + std::max(tile.range.begin, tile.range.end), 0.0);
    eachKeyBlock(tile, [&](std::int64_t begin, std::int64_t count) {
      for (std::int64_t r = 0; r < tile.rows; ++r)
        for (std::int64_t d = 0; d < width_; ++d)
          addScaled(tileRow(result, r) + begin, rows[rowAt(tile, r) + static_cast<std::size_t>(d)],
                    transposed.data() + d * keys_ + begin, count);
    });
  }

  /// Converts scores before the scale to weights, in place. Skips keys that the row's mask
  /// excludes, so a NaN of a key reaches only the rows that attend it.
  void softmax(const Tile& tile, std::int64_t r) {
    double* row = tileRow(weights_, r);
    const KeyRange range = tile.range_of[static_cast<std::size_t>(r)];
    const double sink = in_.sinks.empty() ? -kInfinity : in_.sinks[static_cast<std::size_t>(head_)];
    double largest = sink, sum = 0;
    for (std::int64_t j = range.begin; j < range.end; ++j) {
      row[j] = in_.score(row[j]);
      if (in_.softcap > 0) tileRow(slopes_, r)[j] = in_.slope(row[j]);
      largest = std::max(largest, row[j]);
    }
    for (std::int64_t begin = range.begin; begin < range.end; begin += kKeysAtOnce) {
      double of_block = 0;
      for (std::int64_t j = begin; j < std::min(begin + kKeysAtOnce, range.end); ++j)
        of_block += row[j] = std::exp(row[j] - largest);
      sum += of_block;
    }
    if (sink != -kInfinity) sum += std::exp(sink - largest);
    for (std::int64_t j = range.begin; j < range.end; ++j) row[j] /= sum;
    if (!range.empty() || sink != -kInfinity)
      values_.lse[rowIndex(tile, r)] = largest + std::log(sum);
  }

  /// Adds matrix · rows of the keys to the sums of the tile's rows.
  void addProducts(const Tile& tile, std::vector<double>& matrix, std::span<const double> of_keys,
                   std::vector<double>& sums) {
    eachKeyBlock(tile, [&](std::int64_t begin, std::int64_t count) {
      for (std::int64_t r = 0; r < tile.rows; ++r) {
        const KeyRange range = tile.range_of[static_cast<std::size_t>(r)];
        const std::int64_t end = std::min(begin + count, range.end);
        clearPartial();
        for (std::int64_t j = std::max(begin, range.begin); j < end; ++j)
          addScaled(partial_.data(), tileRow(matrix, r)[j], of_keys.data() + kv_at_ + j * width_,
                    width_);
        addScaled(sums.data() + rowAt(tile, r), 1, partial_.data(), width_);
      }
    });
  }

  /// Adds matrixᵀ · rows of the tile to the sums of the keys' rows.
  void addTransposedProducts(const Tile& tile, std::vector<double>& matrix,
                             std::span<const double> rows, std::vector<double>& sums) {
    for (std::int64_t j = tile.range.begin; j < tile.range.end; ++j) {
      clearPartial();
      for (std::int64_t r = 0; r < tile.rows; ++r)
        if (tile.range_of[static_cast<std::size_t>(r)].holds(j))
          addScaled(partial_.data(), tileRow(matrix, r)[j], rows.data() + rowAt(tile, r), width_);
      addScaled(sums.data() + kv_at_ + j * width_, 1, partial_.data(), width_);
    }
  }

  void clearPartial() { std::ranges::fill(partial_, 0.0); }

  template <typename Work>
  void eachKeyBlock(const Tile& tile, Work&& work) const {
    for (std::int64_t j = tile.range.begin; j < tile.range.end; j += kKeysAtOnce)
      work(j, std::min(kKeysAtOnce, tile.range.end - j));
  }

  void show(const Tile& tile, std::int64_t r) {
    const KeyRange range = tile.range_of[static_cast<std::size_t>(r)];
    const auto count = range.empty() ? 0 : static_cast<std::size_t>(range.end - range.begin);
    AttentionRow row;
    row.batch = head_ / in_.heads;
    row.head = head_ % in_.heads;
    row.row = tile.first + r;
    row.first_key = range.begin;
    row.weights = {tileRow(weights_, r) + range.begin, count};
    if (backward()) row.dscores = {tileRow(dscores_, r) + range.begin, count};
    row.out = std::span<const double>(values_.out)
                  .subspan(rowAt(tile, r), static_cast<std::size_t>(width_));
    row.lse = values_.lse[rowIndex(tile, r)];
    row.delta = backward() ? values_.delta[rowIndex(tile, r)] : 0;
    visit_(row);
  }

  const AttentionInputs& in_;
  const AttentionVisitor& visit_;
  std::int64_t width_, keys_;
  std::int64_t head_ = 0;  // index among all query heads of the batch
  std::size_t kv_at_ = 0;  // offset of the current KV head in k and v
  std::vector<double> k_transposed_, v_transposed_, weights_, dscores_;
  std::vector<double> partial_;  // the part of a row's sum that is added up by itself
  std::vector<double> slopes_;   // only with a softcap
  AttentionValues values_;
};

}  // namespace

void AttentionInputs::check() const {
  const bool heads_divide = batch > 0 && kv_heads > 0 && heads > 0 && heads % kv_heads == 0;
  if (!heads_divide || head_dim < 1)
    throw inputError("an attention of " + std::to_string(heads) + " query heads, " +
                     std::to_string(kv_heads) + " KV heads and a head size of " +
                     std::to_string(head_dim) + " cannot be");
  if (!holds(q.size(), {batch, heads, rows(), head_dim}) ||
      !holds(k.size(), {batch, kv_heads, keys(), head_dim}) || v.size() != k.size() ||
      !(dout.empty() || dout.size() == q.size()) ||
      !(sinks.empty() || holds(sinks.size(), {batch, heads})))
    throw inputError("the arrays of an attention do not fit its shape");
  if (!std::is_sorted(k_tokens.begin(), k_tokens.end()))
    throw inputError("the keys of an attention are not in the order of their tokens");
}

AttentionValues attend(const AttentionInputs& in, const AttentionVisitor& visit) {
  in.check();
  return Attention(in, visit).run();
}

double attentionWork(const std::vector<TokenIndex>& q_tokens,
                     const std::vector<TokenIndex>& k_tokens, const AttentionMask& mask,
                     std::int64_t head_dim, bool backward) {
  double pairs = 0;
  for (const TokenIndex query : q_tokens) {
    const KeyRange range = keyRange(mask, query, k_tokens);
    if (!range.empty()) pairs += static_cast<double>(range.end - range.begin);
  }
  return pairs * static_cast<double>(head_dim) * (backward ? 6 : 2);
}

}  // namespace ringscope::traces
