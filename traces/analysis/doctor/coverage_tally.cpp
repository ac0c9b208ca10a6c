// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/coverage_tally.h"

#include <algorithm>

#include "traces/plan/balance.h"

namespace ringscope::traces {
namespace {

/// No ring has as many ranks.
constexpr std::int64_t kMostStride = std::int64_t{1} << 16;

std::vector<ShardRun> shardRuns(const Trace& trace, const StepMicrobatch& at, WorldRank rank) {
  for (const char* buffer : {"input_ids", "q"}) {
    const ShardRecord* shard = trace.findShard(buffer, at.train_step, rank, at.microbatch);
    if (!shard || !shard->sharded) continue;
    std::vector<ShardRun> runs;
    for (const TokenRun& run : shard->global_from_local)
      if (run.end > run.begin) runs.push_back({run.begin, run.end - run.begin, 1});
    return runs;
  }
  return {};
}

Band rectangleOf(const Event& piece) {
  return {piece.q_begin, piece.q_end, piece.k_begin, piece.k_end};
}

/// Returns the band that a piece attends by the kernel's own masks.
Band withoutBand(const Event& piece, const Band& attended) {
  return piece.mask == PieceMask::kTileMask ? rectangleOf(piece) : attended;
}

/// Returns the mask in which each document includes the padding behind it.
AttentionMask withPadding(AttentionMask mask) {
  mask.documents = documentSlots(std::move(mask.documents), Band::kUnbounded);
  return mask;
}

std::string rankMissing(WorldRank rank) {
  return "needs which tokens rank " + toString(rank) +
         " attends; join the files of all ranks with ringscope merge";
}

}  // namespace

bool CoverageCounter::haveOneStride(ShardRun& q, ShardRun& k) {
  if (q.count == 1) q.stride = k.stride;
  if (k.count == 1) k.stride = q.stride;
  return q.stride == k.stride && q.stride > 0;
}

const std::vector<CoverageCounter::PlacedRun>& CoverageCounter::rowsFor(const Place& place,
                                                                        std::int32_t microbatch,
                                                                        WorldRank rank) {
  const bool alike = trace_.microbatchShards().empty();
  const StepMicrobatch step{place.train_step, alike ? 0 : microbatch};
  const auto [at, added] = rows_.try_emplace({step, place.direction, rank});
  if (!added) return at->second;
  const ScheduleRecord* schedule =
      trace_.schedule(place.train_step, rank, place.direction, Layer::none(), microbatch);
  std::int64_t row = 0;
  for (const ShardRun& run : schedule ? schedule->rows : shardRuns(trace_, step, rank)) {
    if (run.count <= 0) continue;
    at->second.push_back({run, row});
    row += run.count;
  }
  return at->second;
}

void CoverageCounter::countWanted(CoverageTally& tally, const Masks& masks,
                                  const AttentionPass& pass, WorldRank rank) {
  const ScheduleRecord* schedule = trace_.schedule(
      pass.place.train_step, rank, pass.place.direction, Layer::none(), pass.microbatch);
  std::int64_t length = 0, end = 0;
  for (const WorldRank source : schedule ? schedule->ring : members_) {
    const auto& rows = rowsFor(pass.place, pass.microbatch, source);
    if (rows.empty() && tally.unknown.empty()) tally.unknown = rankMissing(source);
    for (const PlacedRun& row : rows) {
      length += row.run.count;
      end = std::max(end, row.run.global(row.run.count - 1) + 1);
    }
  }
  if (length != end && tally.unknown.empty())
    tally.unknown = "needs ranks whose tokens are the whole sequence";
  if (!tally.unknown.empty()) return;
  for (const PlacedRun& row : rowsFor(pass.place, pass.microbatch, rank)) {
    const ShardRun& q = row.run;
    const std::int64_t stride = q.count > 1 ? q.stride : 1;
    if (stride > kMostStride) {
      tally.unknown = "needs shards of smaller strides to compare";
      return;
    }
    // All tokens are as many runs of that stride.
    for (ShardRun k{0, 0, stride}; k.begin < std::min(stride, length); ++k.begin) {
      k.count = (length - k.begin + stride - 1) / stride;
      const ShardRun queries{q.begin, q.count, stride};
      const Band every{0, q.count, 0, k.count};
      tally.wanted += masks.all.pairs(queries, k, every);
      tally.without_documents += masks.without_documents.pairs(queries, k, every);
    }
  }
}

double CoverageCounter::pairsOfBlock(CoverageTally& tally, const AttentionMask& mask,
                                     const AttentionPass& pass, WorldRank rank, WorldRank source) {
  const auto &rows = rowsFor(pass.place, pass.microbatch, rank),
             &keys = rowsFor(pass.place, pass.microbatch, source);
  if (rows.size() * keys.size() > kMostCells) {
    tally.unknown = "needs shards of fewer runs of tokens to compare";
    return 0;
  }
  double pairs = 0;
  for (const PlacedRun& query_row : rows)
    for (const PlacedRun& key_row : keys) {
      ShardRun q = query_row.run, k = key_row.run;
      if (!haveOneStride(q, k)) tally.unknown = kStrides;
      pairs += mask.pairs(q, k, {0, q.count, 0, k.count});
    }
  return pairs;
}

CoverageTally CoverageCounter::count(const AttentionPass& pass, std::size_t seat,
                                     const IntentRecord& meant) {
  cells_ = 0;
  CoverageTally tally;
  const AttentionMask mask = AttentionMask::of(meant);
  Masks masks = {mask,
                 {mask.causal, mask.window, false, {}},
                 {mask.causal, 0, false, {}},
                 withPadding(mask),
                 mask};
  masks.without_window.window = 0;
  for (const Event* piece : pass.attended[seat]) addPiece(tally, masks, *piece);
  addRepeated(tally, pass.attended[seat]);
  for (const auto& [source, pairs] : tally.window.by_source)
    tally.without_window =
        tally.without_window &&
        pairs >= pairsOfBlock(tally, masks.without_window, pass, members_[seat], source) -
                     pairsOfBlock(tally, masks.all, pass, members_[seat], source);
  countWanted(tally, masks, pass, members_[seat]);
  if (!tally.unknown.empty() || tally.missing() <= 0) return tally;
  cells_ = 0;
  for (const Event* piece : pass.attended[seat]) addCut(tally, mask, *piece, pass.attended[seat]);
  tally.ends_at_jumps = endsAtJumps(tally, mask, pass, seat);
  if (tally.elsewhere == 0)
    tally.missing_own =
        pairsOfBlock(tally, mask, pass, members_[seat], members_[seat]) - tally.inside;
  return tally;
}

void CoverageCounter::addPiece(CoverageTally& tally, const Masks& masks, const Event& piece) {
  const auto& rows = rowsFor(piece.place, piece.microbatch, piece.rank);
  const auto& keys = rowsFor(piece.place, piece.microbatch, piece.source_rank);
  if (rows.empty() || keys.empty()) {
    tally.unknown = rankMissing(rows.empty() ? piece.rank : piece.source_rank);
    return;
  }
  if (piece.q_begin < 0 || piece.k_begin < 0 || piece.q_end > rows.back().end() ||
      piece.k_end > keys.back().end()) {
    tally.unknown = "needs pieces that lie within the tokens of their ranks";
    return;
  }
  const auto planned = attendedBand(trace_, piece);
  const Band band = planned.value_or(rectangleOf(piece));
  const auto first_row =
      std::ranges::upper_bound(rows, band.q_begin, {}, [](auto& run) { return run.end(); });
  const auto first_key =
      std::ranges::upper_bound(keys, band.k_begin, {}, [](auto& run) { return run.end(); });
  for (auto q = first_row; q != rows.end() && q->at < band.q_end; ++q)
    for (auto k = first_key; k != keys.end() && k->at < band.k_end; ++k) {
      if (++cells_ > kMostCells) {
        tally.unknown = "needs shards of fewer runs of tokens to compare";
        return;
      }
      const auto here = [&](const Band& of) {
        return of.within(q->at, q->end(), k->at, k->end()).from(q->at, k->at);
      };
      addCell(tally, masks, piece, q->run, k->run, here(band), here(withoutBand(piece, band)),
              planned.has_value());
    }
}

/// `part`: of the piece, and `whole`: of what it is without a band, by the runs' own indices.
void CoverageCounter::addCell(CoverageTally& tally, const Masks& masks, const Event& piece,
                              ShardRun q, ShardRun k, Band part, Band whole, bool planned) {
  if (!haveOneStride(q, k)) {
    tally.unknown = kStrides;
    return;
  }
  // Tile masks are for order and window alone: documents end at rectangles.
  if (!planned) part = masks.without_documents.near(q, k, part);
  const double all = part.pairs(), in_order = masks.order_only.pairs(q, k, part),
               near = masks.without_documents.pairs(q, k, part),
               inside = masks.all.pairs(q, k, part);
  tally.certain = tally.certain && planned;
  tally.inside += inside;
  const bool own = piece.source_rank == piece.rank;
  if (!own) tally.elsewhere += all;
  (own ? tally.future_own : tally.future).add(all - in_order, piece);
  if (all > in_order)
    tally.without_order = tally.without_order &&
                          all - in_order >= whole.pairs() - masks.order_only.pairs(q, k, whole);
  tally.window.add(in_order - near, piece);
  tally.documents.add(near - inside, piece);
  if (near > inside) tally.of_padding += masks.with_padding.pairs(q, k, part) - inside;
}

/// Counts the pairs above a causal mask that begins with a piece's first row and key. Pairs that
/// other pieces attend do not count.
void CoverageCounter::addCut(CoverageTally& tally, const AttentionMask& mask, const Event& piece,
                             const std::vector<const Event*>& pieces) {
  if (piece.mask != PieceMask::kCausal && piece.mask != PieceMask::kStrict) return;
  const auto& keys = rowsFor(piece.place, piece.microbatch, piece.source_rank);
  const Band kept = Band::of({piece.q_begin, piece.q_end, piece.k_begin, piece.k_end, piece.mask});
  const Band above{piece.q_begin,     piece.q_end,   piece.k_begin,
                   keys.back().end(), kept.high + 1, Band::kUnbounded};
  std::vector<Band> elsewhere;
  for (const Event* other : pieces)
    if (other != &piece && other->source_rank == piece.source_rank)
      elsewhere.push_back(above.both(attendedBand(trace_, *other).value_or(rectangleOf(*other))));
  std::erase_if(elsewhere, [](const Band& band) { return band.empty(); });
  double cut = 0;
  for (const PlacedRun& query_row : rowsFor(piece.place, piece.microbatch, piece.rank))
    for (const PlacedRun& key_row : keys) {
      cells_ += 1 + elsewhere.size();
      if (cells_ > kMostCells) return;
      ShardRun q = query_row.run, k = key_row.run;
      if (!haveOneStride(q, k)) continue;
      const auto wanted_of = [&](const Band& band) {
        const Band part = band.within(query_row.at, query_row.end(), key_row.at, key_row.end());
        return part.empty() ? 0 : mask.pairs(q, k, part.from(query_row.at, key_row.at));
      };
      cut += wanted_of(above);
      for (const Band& attended : elsewhere) cut -= wanted_of(attended);
    }
  tally.cut.add(cut, piece);
}

/// Keys of one block are one rank's tokens, so pairs can be the same only within a block.
void CoverageCounter::addRepeated(CoverageTally& tally, std::vector<const Event*> pieces) const {
  std::ranges::sort(pieces, {}, [](const Event* piece) {
    return std::tuple(piece->source_rank, piece->q_begin, piece->place.stage, piece->piece);
  });
  std::vector<std::optional<Band>> bands;
  bands.reserve(pieces.size());
  for (const Event* piece : pieces) bands.push_back(attendedBand(trace_, *piece));
  std::size_t compared = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t j = i + 1; j < pieces.size(); ++j) {
      const Event &one = *pieces[i], &other = *pieces[j];
      if (other.source_rank != one.source_rank || other.q_begin >= one.q_end) break;
      if (++compared > kMostCells) {
        tally.unknown = "needs fewer pieces to compare";
        return;
      }
      if (!bands[i] || !bands[j]) continue;
      const double pairs = bands[i]->both(*bands[j]).pairs();
      const Event& later = before(one.place, other.place) ? other : one;
      tally.repeated.add(pairs, later);
      if (one.place.stage != other.place.stage) tally.again.add(pairs, later);
    }
}

std::vector<std::int64_t> CoverageCounter::signature(const AttentionPass& pass) const {
  std::vector<std::int64_t> numbers = {pass.complete};
  const auto add = [&](auto... values) {
    (numbers.push_back(static_cast<std::int64_t>(values)), ...);
  };
  for (std::size_t seat = 0; seat < members_.size(); ++seat) {
    // Records are told apart by their places in memory.
    const auto number = [](const auto* record) { return reinterpret_cast<std::intptr_t>(record); };
    const auto* schedule = trace_.schedule(pass.place.train_step, members_[seat],
                                           pass.place.direction, pass.place.layer, pass.microbatch);
    add(schedule ? number(schedule) : -1 - pass.place.train_step);
    if (!schedule && !trace_.microbatchShards().empty()) add(pass.microbatch);
    const auto* meant =
        trace_.intent(pass.place.train_step, members_[seat], pass.place.layer, pass.microbatch);
    add(number(meant), pass.attended[seat].size());
    for (const Event* piece : pass.attended[seat])
      add(piece->source_rank.value(), piece->q_begin, piece->q_end, piece->k_begin, piece->k_end,
          piece->mask, piece->place.stage.value());
  }
  return numbers;
}

}  // namespace ringscope::traces
