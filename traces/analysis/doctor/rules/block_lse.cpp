// SPDX-License-Identifier: Apache-2.0
// The log-sum-exp of single blocks.
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>

#include "traces/analysis/doctor/attention_passes.h"
#include "traces/analysis/doctor/few_keys.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/gather.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/band.h"
#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/rows.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {

// lse_base2: the recorded lse of a block is the one that q and k give, divided by ln 2.
namespace {

/// Multiply-adds for one layer, shared out to its pieces; a few rows of a block tell.
constexpr double kBaseWork = 1e6;

/// The squared distances of block_lse from log Σ exp(q·k / √d), for both logarithms.
struct LseComparison {
  int rows = 0;
  double from_natural = 0, from_base2 = 0, room = 0;
  double bits = 0;  ///< that chance would have to meet for wrong rows to be those of one logarithm
  double natural = 0, recorded = 0;  ///< of the first row

  void add(double exact, double lse) {
    if (!std::isfinite(exact) || !std::isfinite(lse)) return;
    if (rows++ == 0) {
      natural = exact;
      recorded = lse;
    }
    const auto squared = [](double x) { return x * x; };
    from_natural += squared(lse - exact);
    from_base2 += squared(lse - exact / std::numbers::ln2);
    room += squared(kTolerance * (1 + std::abs(exact)));
    const double apart = std::abs(exact / std::numbers::ln2 - exact);
    bits += std::max(0.0, std::log2(apart / (kTolerance * (1 + std::abs(exact)))));
  }
  void add(const LseComparison& other) {
    if (rows == 0) {
      natural = other.natural;
      recorded = other.recorded;
    }
    rows += other.rows;
    from_natural += other.from_natural;
    from_base2 += other.from_base2;
    room += other.room;
    bits += other.bits;
  }
  // One of the two is much nearer than the other, and rounding explains the rest.
  bool isNatural() const { return from_natural <= room && from_base2 > kMuch * from_natural; }
  bool isBase2() const { return mayBeBase2() && isSure(); }
  bool mayBeBase2() const { return from_base2 <= room && from_natural > kMuch * from_base2; }
  bool isSure() const { return bits >= kSure; }
  bool isNeither() const { return from_base2 > room && from_natural > room; }

 private:
  static constexpr double kMuch = 16;         // four times, in squares
  static constexpr double kSure = 10;         // one in a thousand
  static constexpr double kTolerance = 0.01;  // of rounding, in any type
};

/// A sequence of the batch, and a query head of the layer.
struct HeadAt {
  std::int64_t sequence = 0, head = 0;
};

/// The q and k of a layer, by sequence and KV head.
class LayerScores {
 public:
  LayerScores(const Trace& trace, const LayerTensors& layer) : trace_(trace), layer_(layer) {}

  /// Returns the lse of a query token of one head over some key tokens; indices are into the
  /// layer's tokens.
  double lse(HeadAt at, std::size_t query, const std::vector<std::size_t>& keys) {
    const auto [sequence, head] = at;
    const Head& of = headFor(sequence, head / layer_.groupSize());
    const auto width = static_cast<std::size_t>(layer_.head_dim), tokens = layer_.tokens.size();
    const double* q =
        of.q.data() +
        (static_cast<std::size_t>(head % layer_.groupSize()) * tokens + query) * width;
    return logSumExp(computeScores(layer_, q, of.k, keys));
  }

 private:
  struct Head {
    std::vector<double> q, k;
  };
  const Head& headFor(std::int64_t sequence, std::int64_t kv_head) {
    const auto [at, added] = heads_.try_emplace({sequence, kv_head});
    if (!added) return at->second;
    Selection all;
    all.groups = {{sequence, kv_head}};
    all.rows.resize(layer_.tokens.size());
    std::iota(all.rows.begin(), all.rows.end(), 0);
    at->second = {layer_.values(trace_, TensorKind::kQ, all).values,
                  layer_.values(trace_, TensorKind::kK, all).values};
    return at->second;
  }

  const Trace& trace_;
  const LayerTensors& layer_;
  std::map<std::pair<std::int64_t, std::int64_t>, Head> heads_;
};

/// Compares the blocks of one layer's forward, rank by rank.
class BlockReader {
 public:
  BlockReader(const Trace& trace, const LayerTensors& layer, const AttentionPass& pass)
      : trace_(trace), layer_(layer), pass_(pass), scores_(trace, layer) {
    for (const auto& pieces : pass.attended)
      for (const Event* piece : pieces) first_head_ = std::min(first_head_, firstHead(piece->rank));
  }

  /// Compares a rank's own block, so that mistakes in the blocks of others do not count. Returns no
  /// rows when block_lse or the tokens are not recorded.
  LseComparison compare(const std::vector<const Event*>& pieces) {
    LseComparison c;
    for (const Event* piece : pieces)
      if (piece->source_rank == piece->rank)
        add(c, *piece, kBaseWork / static_cast<double>(pieces.size()));
    return c;
  }

 private:
  const ScheduleRecord* schedule(WorldRank rank) const {
    return trace_.schedule(pass_.place.train_step, rank, Direction::kForward, pass_.place.layer);
  }
  std::int64_t firstHead(WorldRank rank) const {
    const ScheduleRecord* of_rank = schedule(rank);
    return of_rank ? of_rank->q_head_begin : 0;
  }

  /// Returns the tokens that the rank attends in local order, as indices into the layer's tokens.
  std::vector<std::size_t> rowsFor(WorldRank rank) const {
    const ScheduleRecord* of_rank = schedule(rank);
    std::vector<TokenIndex> tokens;
    if (of_rank)
      tokens = attendedTokens(*of_rank, layer_.tokens.size());
    else if (const auto* q = trace_.findTensor({TensorKind::kQ}, pass_.place, rank))
      tokens = ownTokens(trace_, pass_.place.train_step, rank, q->shape[2]);
    std::vector<std::size_t> rows;
    for (const TokenIndex token : tokens) {
      const auto at = std::ranges::lower_bound(layer_.tokens, token);
      if (at == layer_.tokens.end() || *at != token) return {};
      rows.push_back(static_cast<std::size_t>(at - layer_.tokens.begin()));
    }
    return rows;
  }

  /// A piece whose lse is computed again.
  struct Piece {
    const Event& event;
    Rows recorded;
    Band band;
    std::vector<std::size_t> rows, keys;  ///< of queries and keys, into the layer's tokens
    std::int64_t count = 0;               ///< rows of a head that are compared
  };

  /// Adds heads until the rows suffice; often the first head of the first sequence does.
  void add(LseComparison& c, const Event& event, double work) {
    const auto piece = find(event, work);
    if (!piece) return;
    LseComparison of_piece;
    for (std::int64_t b = 0; b < std::min(piece->recorded.batch(), layer_.batch); ++b)
      for (std::int64_t h = 0; h < piece->recorded.heads() && !of_piece.isSure(); ++h)
        addHead(of_piece, *piece, b, h);
    c.add(of_piece);
  }

  std::optional<Piece> find(const Event& event, double work) const {
    const TensorKey key{
        {TensorKind::kBlockLse}, event.place, event.microbatch, event.pass, event.rank,
        event.source_rank,       event.piece};
    auto recorded = Rows::scalars(trace_, trace_.findTensor(key));
    const auto band = attendedBand(trace_, event);
    auto rows = rowsFor(event.rank), keys = rowsFor(event.source_rank);
    if (!recorded || !band || recorded->queries() != event.q_end - event.q_begin ||
        event.q_begin < 0 || event.k_begin < 0 || event.q_end > std::ssize(rows) ||
        event.k_end > std::ssize(keys))
      return std::nullopt;
    const double per_row = static_cast<double>((event.k_end - event.k_begin) * layer_.head_dim) + 1;
    const auto count =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(work / per_row), 1, recorded->queries());
    return Piece{event, std::move(*recorded), *band, std::move(rows), std::move(keys), count};
  }

  void addHead(LseComparison& c, const Piece& piece, std::int64_t sequence, std::int64_t h) {
    const std::int64_t head = firstHead(piece.event.rank) - first_head_ + h;
    if (head < 0 || head >= layer_.heads) return;
    for (std::int64_t i = 0; i < piece.count; ++i) {
      const std::int64_t at = i * piece.recorded.queries() / piece.count,
                         row = piece.event.q_begin + at;
      const std::int64_t first = std::max<std::int64_t>(piece.event.k_begin, row + piece.band.low),
                         end = std::min<std::int64_t>(piece.event.k_end, row + piece.band.high + 1);
      std::vector<std::size_t> attended;
      for (std::int64_t k = first; k < end; ++k)
        attended.push_back(piece.keys[static_cast<std::size_t>(k)]);
      c.add(scores_.lse({sequence, head}, piece.rows[static_cast<std::size_t>(row)], attended),
            piece.recorded.row(sequence, h, at)[0]);
    }
  }

  const Trace& trace_;
  const LayerTensors& layer_;
  const AttentionPass& pass_;
  LayerScores scores_;
  std::int64_t first_head_ = std::numeric_limits<std::int64_t>::max();
};

Finding lseBase2Finding(const Place& place, WorldRank rank, const LseComparison& c) {
  return {.title = "The log-sum-exp of blocks is a logarithm to base 2",
          .place = place,
          .rank = rank,
          .buffer = "block_lse",
          .evidence = "Over " + describeCount(c.rows, "row") +
                      " block_lse is log Σ exp(q·k / √d) divided by ln 2, within " +
                      describeSignificant(std::sqrt(c.from_base2 / c.rows), 2) +
                      "; from the natural logarithm it is off by " +
                      describeSignificant(std::sqrt(c.from_natural / c.rows), 2) +
                      ". The first is " + describeSignificant(c.recorded, 4) +
                      " where q and k give " + describeSignificant(c.natural, 4) + ".",
          .remedy =
              "Multiply the kernel's lse by ln 2 before it is merged (FlashInfer and kernels that "
              "compute with exp2 return log2), or merge with exp2 and log2 throughout."};
}

}  // namespace

RuleResult checkLseBase2(const Trace& trace) {
  std::optional<Place> neither;
  std::optional<std::pair<Place, WorldRank>> first;
  LseComparison all;  // of ranks that have few rows each, which together may tell
  bool natural = false, few = false;
  for (const auto& members : sequenceGroups(trace))
    for (const AttentionPass& pass : attentionPasses(trace, members)) {
      if (pass.place.direction == Direction::kBackward) continue;
      const LayerTensors layer =
          findLayer(trace, {pass.place.train_step, pass.place.layer, pass.microbatch}, members);
      if (!layer.blocking.empty()) continue;
      BlockReader reader(trace, layer, pass);
      for (std::size_t seat = 0; seat < members.size(); ++seat) {
        const LseComparison c = reader.compare(pass.attended[seat]);
        if (c.isBase2()) return found(lseBase2Finding(pass.place, members[seat], c));
        few = few || c.mayBeBase2();
        all.add(c);
        if (!first && c.rows > 0) first = {pass.place, members[seat]};
        natural = natural || c.isNatural();
        if (c.isNeither() && !neither) neither = pass.place;
      }
    }
  if (neither)
    return undecided("needs blocks whose lse follows from q and k by the known scale; at " +
                     describe(*neither) + " it does not, by either logarithm");
  if (first && all.isBase2()) return found(lseBase2Finding(first->first, first->second, all));
  if (!few && (natural || all.isNatural())) return clear();
  if (all.rows > 0)
    return undecided("needs more rows, or larger sums, to tell the logarithms apart");
  return notObservable("needs q, k and block_lse of one layer");
}

}  // namespace ringscope::traces
