// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/viz/ring_plan.h"

#include <algorithm>

namespace ringscope::test {

using traces::Balance;
using traces::PieceRecord;
using traces::ShardRun;
using traces::WorldRank;

namespace {

struct Token {
  std::int64_t local, global;
};

/// Returns the tokens of one run that lie in a document.
std::vector<Token> within(const ShardRun& run, std::int64_t at, const traces::TokenRun& document) {
  std::vector<Token> tokens;
  for (std::int64_t i = 0; i < run.count; ++i)
    if (run.global(i) >= document.begin && run.global(i) < document.end)
      tokens.push_back({at + i, run.global(i)});
  return tokens;
}

/// Adds the pairs of two runs as one piece, unless the mask leaves none.
void addPiece(std::vector<PieceRecord>& pieces, const RingPlan& plan,
              const std::vector<Token>& queries, const std::vector<Token>& keys) {
  PieceRecord piece{1 << 30, 0, 1 << 30, 0, traces::PieceMask::kTileMask, 1 << 30, -(1 << 30)};
  std::int64_t pairs = 0;
  for (const Token& q : queries)
    for (const Token& k : keys) {
      if (!plan.allowed(q.global, k.global)) continue;
      ++pairs;
      piece.q_begin = std::min(piece.q_begin, q.local);
      piece.q_end = std::max(piece.q_end, q.local + 1);
      piece.k_begin = std::min(piece.k_begin, k.local);
      piece.k_end = std::max(piece.k_end, k.local + 1);
      piece.band_low = std::min(piece.band_low, k.local - q.local);
      piece.band_high = std::max(piece.band_high, k.local - q.local);
    }
  if (pairs == 0) return;
  const std::int64_t rows = piece.q_end - piece.q_begin, columns = piece.k_end - piece.k_begin;
  const bool triangle = rows == columns && pairs == rows * (rows + 1) / 2 &&
                        piece.band_high == piece.k_begin - piece.q_begin;
  if (pairs == rows * columns) piece.mask = traces::PieceMask::kFull;
  if (triangle && rows > 1) piece.mask = traces::PieceMask::kCausal;
  if (piece.mask != traces::PieceMask::kTileMask) piece.band_low = piece.band_high = 0;
  pieces.push_back(piece);
}

}  // namespace

traces::Strategy RingRun::strategy() const {
  if (all_gather) return traces::Strategy::kAllGather;
  return ulysses == 1    ? traces::Strategy::kRing
         : ulysses == cp ? traces::Strategy::kUlysses
                         : traces::Strategy::kHybrid;
}

bool RingPlan::allowed(std::int64_t query, std::int64_t key) const {
  if (run_.mask == traces::MaskKind::kFull) return true;
  if (key > query || (run_.window > 0 && query - key >= run_.window)) return false;
  if (run_.mask != traces::MaskKind::kDocuments) return true;
  return std::ranges::any_of(run_.documents, [&](const traces::TokenRun& document) {
    return key >= document.begin && query < document.end;
  });
}

std::vector<ShardRun> RingPlan::owned(int rank) const {
  const std::int64_t part = run_.seq_len / run_.cp;
  if (run_.balance == Balance::kStriped) return {{rank, part, run_.cp}};
  if (run_.balance == Balance::kNone) return {{rank * part, part, 1}};
  const std::int64_t chunk = part / 2;
  return {{rank * chunk, chunk, 1}, {(2 * run_.cp - 1 - rank) * chunk, chunk, 1}};
}

std::vector<ShardRun> RingPlan::rows(int rank) const {
  if (run_.ulysses == 1) return owned(rank);
  const int first = rank / run_.ulysses * run_.ulysses;
  std::vector<ShardRun> runs;
  for (int r = first; r < first + run_.ulysses; ++r)
    for (const ShardRun& run : owned(r)) runs.push_back(run);
  std::ranges::sort(runs, {}, &ShardRun::begin);
  std::vector<ShardRun> joined;
  for (const ShardRun& run : runs) {
    const bool touches = !joined.empty() && run.stride == 1 &&
                         joined.back().begin + joined.back().count == run.begin;
    if (touches)
      joined.back().count += run.count;
    else
      joined.push_back(run);
  }
  return joined;
}

std::vector<std::int64_t> RingPlan::tokensIn(const std::vector<ShardRun>& runs) {
  std::vector<std::int64_t> tokens;
  for (const ShardRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i) tokens.push_back(run.global(i));
  return tokens;
}

std::vector<PieceRecord> RingPlan::pieces(int rank, int source) const {
  auto documents = run_.documents;
  if (run_.mask != traces::MaskKind::kDocuments) documents = {{0, run_.seq_len}};
  std::vector<PieceRecord> all;
  std::int64_t q_at = 0;
  for (const ShardRun& q : rows(rank)) {
    std::int64_t k_at = 0;
    for (const ShardRun& k : rows(source)) {
      for (const auto& document : documents)
        addPiece(all, *this, within(q, q_at, document), within(k, k_at, document));
      k_at += k.count;
    }
    q_at += q.count;
  }
  return all;
}

traces::WhyEmpty RingPlan::whyEmpty(int rank, int source) const {
  bool past = false, in_window = false, in_document = false;
  for (const std::int64_t q : tokensIn(rows(rank)))
    for (const std::int64_t k : tokensIn(rows(source))) {
      if (allowed(q, k)) return traces::WhyEmpty::kAttends;
      if (k > q) continue;
      past = true;
      in_window = in_window || run_.window == 0 || q - k < run_.window;
      in_document = in_document || run_.mask != traces::MaskKind::kDocuments ||
                    std::ranges::any_of(run_.documents,
                                        [&](const auto& d) { return k >= d.begin && q < d.end; });
    }
  if (!past) return traces::WhyEmpty::kFuture;
  if (!in_window) return traces::WhyEmpty::kOutOfWindow;
  return in_document ? traces::WhyEmpty::kSeveralReasons : traces::WhyEmpty::kOtherDocument;
}

traces::ScheduleRecord RingPlan::schedule(int train_step, int rank,
                                          traces::Direction direction) const {
  const int u = run_.ulysses, ring = run_.cp / u, place = rank / u, share = rank % u;
  traces::ScheduleRecord schedule;
  schedule.train_step = train_step;
  schedule.direction = direction;
  schedule.rank = WorldRank::of(rank);
  for (int i = 0; i < ring; ++i) schedule.ring.push_back(WorldRank::of(share + i * u));
  for (int i = 0; i < u; ++i) schedule.ulysses.push_back(WorldRank::of(rank - share + i));
  schedule.rows = rows(rank);
  schedule.q_head_begin = share * run_.heads / u;
  schedule.q_head_end = (share + 1) * run_.heads / u;
  for (std::int64_t h = schedule.q_head_begin; h < schedule.q_head_end; ++h)
    if (const auto kv = h * run_.kv_heads / run_.heads;
        schedule.kv_heads.empty() || schedule.kv_heads.back() != kv)
      schedule.kv_heads.push_back(kv);
  for (int step = 0; step < ring; ++step) {
    const int source = share + (place - step + ring) % ring * u;
    traces::StageRecord stage;
    stage.ring_step = traces::RingStep::of(run_.all_gather ? 0 : step);
    stage.source_rank = WorldRank::of(source);
    stage.forwards_kv = !run_.all_gather && step + 1 < ring;
    stage.pieces = pieces(rank, source);
    stage.why_empty = whyEmpty(rank, source);
    schedule.stages.push_back(std::move(stage));
  }
  return schedule;
}

}  // namespace ringscope::test
