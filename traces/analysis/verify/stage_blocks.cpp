// SPDX-License-Identifier: Apache-2.0
// The blocks of forward, each attended again by itself, and the running log-sum-exp that they give.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "traces/analysis/verify/recompute/log_sum.h"
#include "traces/analysis/verify/recompute/precision.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/analysis/verify/stage_reader.h"
#include "traces/format/trace/rows.h"

namespace ringscope::traces {
namespace {

using Seat = PlannedBlocks::Seat;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The recorded tensors of one piece.
struct Block {
  Rows out, lse;
  DType out_type, lse_type;
};

/// One query head of a batch entry, with its number among the selected groups.
struct HeadAt {
  std::size_t group = 0;
  std::int64_t batch = 0, head = 0, in_group = 0, local = 0;
};

class BlockReader : public StageReader {
 public:
  explicit BlockReader(const StageSetting& setting)
      : s_(setting),
        q_(s_.layer.values(s_.trace, TensorKind::kQ, s_.selection).values),
        k_(s_.layer.values(s_.trace, TensorKind::kK, s_.selection).values),
        v_(s_.layer.values(s_.trace, TensorKind::kV, s_.selection).values) {}

  std::int64_t read(const Seat& seat, std::size_t index, std::vector<WrongStage>& wrong) override {
    const StageRecord& stage = seat.forward->stages[index];
    std::int64_t compared = 0;
    for (std::size_t piece = 0; piece < stage.pieces.size(); ++piece) {
      const auto block = blockOf(seat, stage, piece);
      if (!block) {
        running_.erase(seat.rank);
        incomplete_.push_back(seat.rank);
        continue;
      }
      ++compared;
      compare(seat, stage, piece, *block, wrong);
      merge(seat, stage.pieces[piece], *block);
    }
    return compared + compareRunning(seat, stage, wrong);
  }

 private:
  TensorKey keyOf(const Seat& seat, const StageRecord& stage, TensorKind kind,
                  PieceIndex piece) const {
    TensorKey key{{kind}, s_.placeFor(Direction::kForward, stage.ring_step)};
    key.microbatch = s_.layer.pass.microbatch;
    key.rank = seat.rank;
    key.source_rank = stage.source_rank;
    key.piece = piece;
    return key;
  }

  /// Nothing where it was not kept, or is of other rows or heads than were planned.
  std::optional<Block> blockOf(const Seat& seat, const StageRecord& stage,
                               std::size_t piece) const {
    const PieceIndex index = PieceIndex::of(static_cast<std::int64_t>(piece));
    const auto* out = s_.trace.findTensor(keyOf(seat, stage, TensorKind::kBlockOut, index));
    const auto* lse = s_.trace.findTensor(keyOf(seat, stage, TensorKind::kBlockLse, index));
    auto outs = Rows::vectors(s_.trace, out);
    auto lses = Rows::scalars(s_.trace, lse);
    const PieceRecord& planned = stage.pieces[piece];
    if (!outs || !lses || !outs->matches(*lses) || outs->batch() != s_.layer.batch ||
        outs->width() != s_.layer.head_dim ||
        outs->heads() != seat.forward->q_head_end - seat.forward->q_head_begin ||
        outs->queries() != planned.q_end - planned.q_begin || planned.q_begin < 0 ||
        planned.q_end > static_cast<std::int64_t>(seat.rows.size()))
      return std::nullopt;
    return Block{std::move(*outs), std::move(*lses), out->dtype, lse->dtype};
  }

  std::vector<HeadAt> headsFor(const Seat& seat) const {
    std::vector<HeadAt> heads;
    for (std::size_t g = 0; g < s_.selection.groups.size(); ++g)
      for (std::int64_t h = 0; h < s_.layer.groupSize(); ++h) {
        const HeadGroup& group = s_.selection.groups[g];
        const std::int64_t head = group.kv_head * s_.layer.groupSize() + h,
                           local = head - s_.plan.firstHeadAt(seat);
        if (local >= 0 && local < seat.forward->q_head_end - seat.forward->q_head_begin)
          heads.push_back({g, group.batch, head, h, local});
      }
    return heads;
  }

  /// Rows of these tokens; `first`: where those of the head begin, in rows.
  std::vector<double> gathered(const std::vector<double>& all, std::size_t first,
                               const std::vector<std::size_t>& tokens) const {
    std::vector<double> rows;
    rows.reserve(tokens.size() * s_.width());
    for (const std::size_t token : tokens) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>((first + token) * s_.width());
      rows.insert(rows.end(), at, at + static_cast<std::ptrdiff_t>(s_.width()));
    }
    return rows;
  }

  void compare(const Seat& seat, const StageRecord& stage, std::size_t piece, const Block& block,
               std::vector<WrongStage>& wrong) const {
    const PieceRecord& planned = stage.pieces[piece];
    const Seat* source = s_.plan.findSeat(stage.source_rank);
    if (!source) return;
    const std::vector<std::size_t> rows(seat.rows.begin() + planned.q_begin,
                                        seat.rows.begin() + planned.q_end);
    const auto size = static_cast<std::int64_t>(source->rows.size()),
               begin = std::clamp<std::int64_t>(planned.k_begin, 0, size),
               end = std::clamp<std::int64_t>(planned.k_end, begin, size);
    std::vector<std::size_t> keys(source->rows.begin() + begin, source->rows.begin() + end);
    std::ranges::sort(keys);  // as attend() wants them
    const Precision precision = precisionOfPiece(planned, keys.size());
    WrongRows outs, lses;
    for (const HeadAt& at : headsFor(seat))
      compareHead(seat, at, block, rows, keys, precision, outs, lses);
    for (const auto& [kind, found] :
         {std::pair{TensorKind::kBlockOut, &outs}, std::pair{TensorKind::kBlockLse, &lses}}) {
      if (found->empty()) continue;
      WrongStage result{seat.rank, stage.source_rank, stage.ring_step,
                        PieceIndex::of(static_cast<std::int64_t>(piece)), kind};
      found->into(result);
      wrong.push_back(std::move(result));
    }
  }

  /// Returns the precision of a piece of `keys` keys by itself, of which kernels merge strips.
  Precision precisionOfPiece(const PieceRecord& planned, std::size_t keys) const {
    std::vector<std::size_t> rows(static_cast<std::size_t>(planned.q_end - planned.q_begin));
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    MergedBlocks blocks = MergedBlocks::whole(rows.size());
    blocks.block_of_key.assign(keys, 0);
    blocks.key_parts.assign(keys, 1);
    std::ranges::fill(blocks.row_parts, 0);
    Piece piece{planned};
    piece.q_begin = piece.k_begin = 0;
    piece.q_end = planned.q_end - planned.q_begin;
    piece.k_end = planned.k_end - planned.k_begin;
    blocks.countPieces({&piece, 1}, rows, {});
    return {computedType(s_.layer), std::move(blocks), limitWidening(s_.trace, s_.layer).factor};
  }

  void compareHead(const Seat& seat, const HeadAt& at, const Block& block,
                   const std::vector<std::size_t>& rows, const std::vector<std::size_t>& keys,
                   const Precision& precision, WrongRows& outs, WrongRows& lses) const {
    const std::size_t length = s_.layer.tokens.size(),
                      group_heads = static_cast<std::size_t>(s_.layer.groupSize());
    const auto q = gathered(
        q_, (at.group * group_heads + static_cast<std::size_t>(at.in_group)) * length, rows);
    const auto k = gathered(k_, at.group * length, keys), v = gathered(v_, at.group * length, keys);
    AttentionInputs in;
    in.batch = in.heads = in.kv_heads = 1;
    in.head_dim = s_.layer.head_dim;
    for (const std::size_t row : rows) in.q_tokens.push_back(s_.layer.tokens[row]);
    for (const std::size_t key : keys) in.k_tokens.push_back(s_.layer.tokens[key]);
    in.q = q;
    in.k = k;
    in.v = v;
    static_cast<ScoreRule&>(in) = s_.layer.scores;
    in.mask = s_.mask;
    const auto [values, limits] = attendWithLimits(in, precision);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      RowError error{at.batch, at.head, s_.layer.tokens[rows[i]], seat.rank};
      const std::span<const double> right(values.out.data() + i * s_.width(), s_.width());
      add(outs, error, right, block.out.row(at.batch, at.local, row), limits.out[i],
          {block.out_type, precision.dtype});
      add(lses, error, {values.lse.data() + i, 1}, block.lse.row(at.batch, at.local, row),
          limits.lse[i], {block.lse_type, typeOfSums(precision.dtype)});
    }
  }

  struct Types {
    DType recorded, computed;
  };
  static void add(WrongRows& rows, RowError row, std::span<const double> right,
                  std::span<const double> actual, double limit, const Types& types) {
    measure(row, right, actual);
    row.limit = limit + storedAgain(types.recorded, types.computed, row.size);
    if (row.ratio() > 1) rows.add(row);
  }

  /// The lse that the recorded blocks of a rank give so far: [batch, its heads, its rows].
  std::vector<double>& runningOf(const Seat& seat) {
    auto& running = running_[seat.rank];
    if (running.empty())
      running.assign(static_cast<std::size_t>(
                         s_.layer.batch * (seat.forward->q_head_end - seat.forward->q_head_begin)) *
                         seat.rows.size(),
                     -kInfinity);
    return running;
  }

  void merge(const Seat& seat, const PieceRecord& piece, const Block& block) {
    auto& running = runningOf(seat);
    for (std::int64_t b = 0; b < block.lse.batch(); ++b)
      for (std::int64_t h = 0; h < block.lse.heads(); ++h)
        for (std::int64_t i = 0; i < block.lse.queries(); ++i) {
          const auto first = static_cast<std::size_t>(b * block.lse.heads() + h) * seat.rows.size();
          double& sum = running[first + static_cast<std::size_t>(piece.q_begin + i)];
          sum = logOfSum(sum, block.lse.row(b, h, i)[0]);
        }
    ++merges_[seat.rank];
  }

  std::int64_t compareRunning(const Seat& seat, const StageRecord& stage,
                              std::vector<WrongStage>& wrong) {
    if (std::ranges::find(incomplete_, seat.rank) != incomplete_.end()) return 0;
    const auto* record =
        s_.trace.findTensor(keyOf(seat, stage, TensorKind::kRunningLse, PieceIndex::none()));
    const auto recorded = Rows::scalars(s_.trace, record);
    const auto& running = runningOf(seat);
    if (!recorded || recorded->values().size() != running.size() ||
        recorded->queries() != static_cast<std::int64_t>(seat.rows.size()))
      return 0;
    const double u = unitRoundoff(record->dtype), merges = merges_[seat.rank];
    WrongRows rows;
    for (std::size_t i = 0; i < running.size(); ++i) {
      const auto head = static_cast<std::int64_t>(i / seat.rows.size());
      RowError row{head / recorded->heads(), head % recorded->heads() + s_.plan.firstHeadAt(seat),
                   s_.layer.tokens[seat.rows[i % seat.rows.size()]], seat.rank};
      measure(row, {&running[i], 1}, {&recorded->values()[i], 1});
      // Each merge takes an exponential and a logarithm, and rounds their sum.
      row.limit = std::isfinite(row.size) ? (merges + 1) * u * (80 + 2 * row.size) : 0;
      if (row.ratio() > 1) rows.add(row);
    }
    if (!rows.empty()) {
      WrongStage result{seat.rank, stage.source_rank, stage.ring_step, PieceIndex::none(),
                        TensorKind::kRunningLse};
      rows.into(result);
      wrong.push_back(std::move(result));
    }
    return 1;
  }

  const StageSetting& s_;
  std::vector<double> q_, k_, v_;
  std::map<WorldRank, std::vector<double>> running_;
  std::map<WorldRank, double> merges_;
  std::vector<WorldRank> incomplete_;  ///< a block of theirs was not kept
};

}  // namespace

std::unique_ptr<StageReader> blockReader(const StageSetting& setting) {
  return std::make_unique<BlockReader>(setting);
}

}  // namespace ringscope::traces
