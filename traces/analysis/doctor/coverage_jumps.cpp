// SPDX-License-Identifier: Apache-2.0
// Whether a rank attends as if a document began wherever its tokens jump.
#include <algorithm>

#include "traces/analysis/doctor/coverage_tally.h"

namespace ringscope::traces {
namespace {

/// Counts the pairs of a run's rows in every block. In a run with a stride a jump follows each
/// token.
Band rowsAndKeys(std::int64_t begin, std::int64_t end, const ShardRun& run) {
  Band rows{begin, end, begin, end};
  if (run.count > 1 && run.stride > 1) rows.low = rows.high = 0;
  return rows;
}

}  // namespace

std::vector<CoverageCounter::PlacedRun> CoverageCounter::withoutJumps(
    const std::vector<PlacedRun>& rows) {
  std::vector<PlacedRun> parts;
  for (const PlacedRun& row : rows) {
    const bool follows = !parts.empty() && row.run.stride == 1 && parts.back().run.stride == 1 &&
                         parts.back().run.begin + parts.back().run.count == row.run.begin;
    if (follows)
      parts.back().run.count += row.run.count;
    else
      parts.push_back(row);
  }
  return parts;
}

bool CoverageCounter::endsAtJumps(CoverageTally& tally, const AttentionMask& mask,
                                  const AttentionPass& pass, std::size_t seat) {
  const ScheduleRecord* schedule =
      trace_.schedule(pass.place.train_step, members_[seat], pass.place.direction, pass.place.layer,
                      pass.microbatch);
  std::vector<Band> bands;
  for (const Event* piece : pass.attended[seat]) {
    const auto band = likelyBand(trace_, *piece);
    if (!band) return false;
    bands.push_back(*band);
  }
  double wanted = 0, attended = 0;
  for (const PlacedRun& part : withoutJumps(rowsFor(pass.place, pass.microbatch, members_[seat]))) {
    const Band rows = rowsAndKeys(part.at, part.end(), part.run);
    for (const Band& band : bands) {
      if (++cells_ > kMostCells) return false;
      attended += band.both(rows).pairs();
    }
    for (const WorldRank source : schedule ? schedule->ring : members_)
      for (const PlacedRun& key_row : rowsFor(pass.place, pass.microbatch, source)) {
        if (++cells_ > kMostCells) return false;
        ShardRun q = part.run, k = key_row.run;
        const Band cell = rows.within(part.at, part.end(), key_row.at, key_row.end());
        if (cell.empty()) continue;
        if (!haveOneStride(q, k)) return false;
        wanted += mask.pairs(q, k, cell.from(part.at, key_row.at));
      }
  }
  const double inside = tally.inside - tally.repeated.pairs;
  return inside == wanted && inside == attended;
}

}  // namespace ringscope::traces
