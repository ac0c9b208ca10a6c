// SPDX-License-Identifier: Apache-2.0
// Compares the parts that ring steps of backward add to the dK and dV that travel with a block.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/analysis/verify/stage_gradients.h"

namespace ringscope::traces {
namespace {

using Seat = PlannedBlocks::Seat;

/// dK and dV of one source's block as a rank recorded them: [2, batch, KV heads, keys, head_dim].
struct Sums {
  std::vector<double> values;
  double roundoff = 0;
  WorldRank rank;  ///< who had them
};

class SumReader : public StageReader {
 public:
  explicit SumReader(const StageSetting& setting) : s_(setting), gradients_(setting) {
    first_kv_head_ = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, seat] : s_.plan.seats())
      for (const std::int64_t head : seat.forward->kv_heads)
        first_kv_head_ = std::min(first_kv_head_, std::max<std::int64_t>(head, 0));
  }

  std::int64_t read(const Seat& seat, std::size_t index, std::vector<WrongStage>& wrong) override {
    const StageRecord& stage = seat.backward->stages[index];
    const Seat* source = s_.plan.findSeat(stage.source_rank);
    if (!source) return 0;
    const auto now = sumsOf(seat, stage, *source);
    if (!now) return 0;
    std::optional<Sums> before;
    if (index > 0) {
      before = sumsBefore(*source, index);
      if (!before) return 0;
    }
    compare(seat, stage, *source, *now, before ? &*before : nullptr, wrong);
    return 1;
  }

  void finish(std::vector<WrongStage>& wrong) override {
    for (const TensorKind kind : {TensorKind::kDk, TensorKind::kDv})
      if (s_.layer.complete(kind)) compareAtHome(kind, wrong);
    if (wrong.empty()) findDqPart(gradients_, wrong);
  }

 private:
  std::optional<Sums> sumsOf(const Seat& seat, const StageRecord& stage, const Seat& source) const {
    const Place place = s_.placeFor(Direction::kBackward, stage.ring_step);
    for (const TensorRecord* record : s_.trace.tensorsAt({TensorKind::kDkv}, place, seat.rank)) {
      if (record->source_rank != stage.source_rank ||
          record->microbatch != s_.layer.pass.microbatch)
        continue;
      const std::vector<std::int64_t> shape = {
          2, s_.layer.batch, static_cast<std::int64_t>(seat.forward->kv_heads.size()),
          static_cast<std::int64_t>(source.rows.size()), s_.layer.head_dim};
      auto values = record->shape == shape ? s_.trace.values(*record) : std::nullopt;
      if (values) return Sums{std::move(*values), unitRoundoff(record->dtype), seat.rank};
    }
    return std::nullopt;
  }

  /// As the rank had them that held the block one ring step before.
  std::optional<Sums> sumsBefore(const Seat& source, std::size_t index) const {
    for (const auto& [rank, seat] : s_.plan.seats())
      if (index - 1 < seat.backward->stages.size())
        if (const StageRecord& stage = seat.backward->stages[index - 1];
            stage.source_rank == source.rank)
          return sumsOf(seat, stage, source);
    return std::nullopt;
  }

  /// Returns the index of this KV head in the block; nullopt if the rank does not attend it.
  std::optional<std::size_t> localKvHead(const Seat& seat, std::int64_t kv_head) const {
    const auto& all = seat.forward->kv_heads;
    const auto at = std::ranges::find(all, kv_head + first_kv_head_);
    return at == all.end() ? std::nullopt
                           : std::optional(static_cast<std::size_t>(at - all.begin()));
  }

  void compare(const Seat& seat, const StageRecord& stage, const Seat& source, const Sums& now,
               const Sums* before, std::vector<WrongStage>& wrong) const {
    std::array<WrongRows, 2> rows;
    for (std::size_t g = 0; g < s_.selection.groups.size(); ++g) {
      const auto local = localKvHead(seat, s_.selection.groups[g].kv_head);
      if (!local) continue;
      const auto parts = partsFor(seat, stage, source, g);
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t key = 0; key < source.rows.size(); ++key)
          compareRow(seat, source, {g, *local, i, key}, parts[i], now, before, rows[i]);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (rows[i].empty()) continue;
      WrongStage result{seat.rank, stage.source_rank, stage.ring_step, PieceIndex::none(),
                        i == 0 ? TensorKind::kDk : TensorKind::kDv};
      rows[i].into(result);
      if (before) result.before = before->rank;
      wrong.push_back(std::move(result));
    }
  }

  /// The sums of a source's block as they were recorded last, and the ring step.
  std::optional<std::pair<Sums, RingStep>> lastSumsOf(const Seat& source) const {
    std::size_t last = 0;
    std::optional<std::pair<Sums, RingStep>> sums;
    for (const auto& [rank, seat] : s_.plan.seats())
      for (std::size_t index = last; index < seat.backward->stages.size(); ++index) {
        const StageRecord& stage = seat.backward->stages[index];
        if (stage.source_rank != source.rank) continue;
        auto found = sumsOf(seat, stage, source);
        if (!found) return std::nullopt;
        sums.emplace(std::move(*found), stage.ring_step);
        last = index;
      }
    return sums;
  }

  /// Whether each block's last sums are what its tokens have; of heads that one rank attends alone.
  void compareAtHome(TensorKind kind, std::vector<WrongStage>& wrong) const {
    const GatheredRows home = s_.layer.values(s_.trace, kind, s_.selection);
    for (const auto& [rank, source] : s_.plan.seats()) {
      const auto last = lastSumsOf(source);
      if (!last) continue;
      WrongRows rows;
      for (std::size_t g = 0; g < s_.selection.groups.size(); ++g)
        if (const auto local = localKvHead(source, s_.selection.groups[g].kv_head);
            local && isAlone(source, s_.selection.groups[g].kv_head))
          for (std::size_t key = 0; key < source.rows.size(); ++key)
            compareRowAtHome(source, {g, *local, kind == TensorKind::kDv ? 1U : 0U, key},
                             last->first, home, rows);
      if (rows.empty()) continue;
      WrongStage result{rank, rank, last->second, PieceIndex::none(), kind};
      rows.into(result);
      result.before = last->first.rank;
      result.on_the_way_home = true;
      wrong.push_back(std::move(result));
    }
  }

  /// No other rank attends this KV head of the same tokens.
  bool isAlone(const Seat& source, std::int64_t kv_head) const {
    return std::ranges::none_of(s_.plan.seats(), [&](const auto& other) {
      return other.first != source.rank && other.second.rows == source.rows &&
             localKvHead(other.second, kv_head);
    });
  }

  /// One row of dK (0) or dV (1) of one selected group.
  struct RowAt {
    std::size_t group = 0, local_head = 0, which = 0, key = 0;
  };

  void compareRow(const Seat& seat, const Seat& source, const RowAt& at,
                  const std::vector<double>& part, const Sums& now, const Sums* before,
                  WrongRows& rows) const {
    const HeadGroup& group = s_.selection.groups[at.group];
    const std::size_t width = s_.width(), token = source.rows[at.key];
    const std::size_t first = firstOf(source, at);
    std::vector<double> added(width);
    double size = 0;
    for (std::size_t d = 0; d < width; ++d) {
      const double sum = now.values[first + d], was = before ? before->values[first + d] : 0;
      added[d] = sum - was;
      size += std::abs(sum) + std::abs(was);
    }
    RowError row{group.batch, group.kv_head, s_.layer.tokens[token], seat.rank};
    measure(row, {part.data() + at.key * width, width}, added);
    const auto& limits =
        at.which == 0 ? gradients_.meant.limits().dk : gradients_.meant.limits().dv;
    row.limit = limits[at.group * s_.layer.tokens.size() + token] + 2 * now.roundoff * size;
    if (row.ratio() > 1) rows.add(row);
  }

  /// Compares dk or dv with the last sum, rounded to the type of dk and dv.
  void compareRowAtHome(const Seat& source, const RowAt& at, const Sums& last,
                        const GatheredRows& home, WrongRows& rows) const {
    const HeadGroup& group = s_.selection.groups[at.group];
    const std::size_t width = s_.width(), token = source.rows[at.key],
                      row = at.group * s_.layer.tokens.size() + token, first = firstOf(source, at);
    RowError error{group.batch, group.kv_head, s_.layer.tokens[token], home.ranks[row]};
    measure(error, {&last.values[first], width}, {&home.values[row * width], width});
    const TensorKind kind = at.which == 0 ? TensorKind::kDk : TensorKind::kDv;
    error.limit = 2 * unitRoundoff(s_.layer.tensors.at(kind).front().record->dtype) * error.size +
                  std::numeric_limits<double>::min();
    if (home.ranks[row].exists() && error.ratio() > 1) rows.add(error);
  }

  /// Returns the index at which a row begins in the sums of the source's block.
  std::size_t firstOf(const Seat& source, const RowAt& at) const {
    const auto batches = static_cast<std::size_t>(s_.layer.batch),
               batch = static_cast<std::size_t>(s_.selection.groups[at.group].batch);
    return (((at.which * batches + batch) * source.forward->kv_heads.size() + at.local_head) *
                source.rows.size() +
            at.key) *
           s_.width();
  }

  /// dK and dV of the block's rows from the pieces of one ring step: [keys, head_dim] each.
  std::array<std::vector<double>, 2> partsFor(const Seat& seat, const StageRecord& stage,
                                              const Seat& source, std::size_t group) const {
    std::array<std::vector<double>, 2> parts;
    for (auto& part : parts) part.assign(source.rows.size() * s_.width(), 0);
    gradients_.visitPairs(seat, stage, source, group, [&](const StageGradients::Pair& pair) {
      for (std::size_t d = 0; d < s_.width(); ++d) {
        parts[0][pair.key * s_.width() + d] += pair.of_score * pair.q[d];
        parts[1][pair.key * s_.width() + d] += pair.weight * pair.dout[d];
      }
    });
    return parts;
  }

  const StageSetting& s_;
  const StageGradients gradients_;
  std::int64_t first_kv_head_ = 0;
};

}  // namespace

std::unique_ptr<StageReader> sumReader(const StageSetting& setting) {
  return std::make_unique<SumReader>(setting);
}

}  // namespace ringscope::traces
