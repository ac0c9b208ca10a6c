// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/kernel_work.h"

#include <algorithm>

#include "traces/format/schema/pieces.h"
#include "traces/plan/attended_pairs.h"

namespace ringscope::traces {
namespace {

std::int64_t tilesOf(std::int64_t length, std::int64_t tile) {
  return (length + tile - 1) / tile;
}

std::int64_t rowsOfTile(std::int64_t rows) {
  constexpr std::int64_t kMany = 768, kSome = 192;
  return rows >= kMany ? 256 : rows >= kSome ? 64 : 32;
}

/// Returns the work of one call. The rows of a tile of a causal square are computed with all keys
/// of the key tiles that any of these rows sees.
KernelWork workOf(const Piece& piece) {
  constexpr std::int64_t kKeys = 512;
  const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
  const std::int64_t part = rowsOfTile(rows);
  KernelWork work;
  work.calls = 1;
  if (piece.mask != PieceMask::kCausal) {
    work.pairs = rows * keys;
    work.tiles = tilesOf(rows, part) * tilesOf(keys, kKeys);
    return work;
  }
  for (std::int64_t row = 0; row < rows; row += part) {
    const std::int64_t tiles = tilesOf(std::min(keys, row + part), kKeys);
    work.pairs += std::min(part, rows - row) * std::min(keys, tiles * kKeys);
    work.tiles += tiles;
  }
  return work;
}

/// The calls with which the engine attends the blocks of a run, see block_worker.h. A rank that
/// shares its sequence with no other rank uses plain calls (whole.h).
class Calls {
 public:
  Calls(const RunSpec& run, std::int64_t rows, Direction direction)
      : rows_(rows),
        on_parts_(run.device == Device::kCpu && run.cp > 1),
        narrow_(run.dtype == DType::kBFloat16 || run.dtype == DType::kFloat16),
        forward_(direction == Direction::kForward) {
    if (run.device == Device::kCpu && run.cores > run.worldSize())
      all_.threads = run.cores / run.worldSize();
  }

  void add(const Piece& piece) {
    ++all_.pieces;
    all_.whole = all_.pieces == 1 && piece.q_end - piece.q_begin == rows_ &&
                 piece.mask != PieceMask::kTileMask;
    all_.rows += piece.q_end - piece.q_begin;
    if (!on_parts_) return count(piece);
    for (const Piece& part : forward_ ? cutDiagonalIntoStrips(piece) : cutDiagonal(piece))
      count(part);
  }
  const KernelWork& work() const { return all_; }

 private:
  void count(const Piece& piece) {
    constexpr std::int64_t kSmall = std::int64_t{128} * 128;
    KernelWork work = workOf(piece);
    const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
    if (on_parts_ && narrow_ && rows * keys <= kSmall) {
      work.small_pairs = work.pairs;
      work.tiles = 0;
    }
    all_.pairs += work.pairs;
    all_.calls += work.calls;
    all_.tiles += work.tiles;
    all_.small_pairs += work.small_pairs;
  }

  const std::int64_t rows_;
  const bool on_parts_, narrow_, forward_;
  KernelWork all_;
};

/// Returns the runs of `together` neighbouring ranks, in global order unless they interleave.
/// Consecutive runs are joined.
std::vector<ShardRun> joinedRuns(const RunSpec& run, std::int32_t first, std::int32_t together,
                                 Balance balance) {
  std::vector<ShardRun> all;
  for (std::int32_t rank = first; rank < first + together; ++rank)
    for (const ShardRun& each : plannedRuns(run, GroupRank::of(rank), balance)) all.push_back(each);
  if (balance == Balance::kStriped || together == 1) return all;
  std::ranges::sort(all, {}, &ShardRun::begin);
  std::vector<ShardRun> joined;
  for (const ShardRun& each : all)
    if (!joined.empty() && joined.back().begin + joined.back().count == each.begin)
      joined.back().count += each.count;
    else
      joined.push_back(each);
  return joined;
}

}  // namespace

std::vector<std::vector<KernelWork>> kernelWork(const RunSpec& run, std::int32_t ulysses,
                                                Direction direction) {
  const Balance balance = plannableBalance(run);
  const std::int32_t rings = run.cp / ulysses;
  std::vector<std::vector<ShardRun>> rows;
  rows.reserve(static_cast<std::size_t>(rings));
  for (std::int32_t ring = 0; ring < rings; ++ring)
    rows.push_back(run.cp == 1 ? std::vector<ShardRun>{{0, run.seq_len, 1}}
                               : joinedRuns(run, ring * ulysses, ulysses, balance));
  std::vector<std::vector<KernelWork>> work(rows.size());
  for (std::size_t ring = 0; ring < rows.size(); ++ring)
    for (const std::vector<ShardRun>& keys : rows) {
      Calls calls(run, run.seq_len / rings, direction);
      for (const Piece& piece :
           piecesOf(rows[ring], keys, {run.mask != MaskKind::kFull, run.window, {}}))
        calls.add(piece);
      work[ring].push_back(calls.work());
    }
  return work;
}

}  // namespace ringscope::traces
