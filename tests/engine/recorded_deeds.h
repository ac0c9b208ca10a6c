// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "traces/format/schema/band.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/trace.h"

// The recorded activity of ranks, counted one by one: the pairs that they attended and the messages
// that they sent.
namespace ringscope::test {

/// Returns the band of a tile mask from the schedule's piece with the same rows; nullopt when there
/// is none.
inline std::optional<traces::Band> plannedBand(const traces::Trace& trace,
                                               const traces::Event& event) {
  const auto* schedule = trace.schedule(event.place.train_step, event.rank, event.place.direction);
  if (!schedule) return std::nullopt;
  for (const auto& stage : schedule->stages)
    for (const auto& piece : stage.pieces)
      if (stage.source_rank == event.source_rank && piece.mask == event.mask &&
          piece.q_begin == event.q_begin && piece.q_end == event.q_end &&
          piece.k_begin == event.k_begin && piece.k_end == event.k_end)
        return traces::Band::of(piece);
  return std::nullopt;
}

using Counted = std::map<std::vector<std::int64_t>, int>;

inline std::vector<std::int64_t> numbersFrom(const traces::Place& place) {
  return {place.train_step, place.layer.value(), static_cast<std::int64_t>(place.direction),
          place.stage.value()};
}

/// Returns how often each rank attends each (query row, key row) of each block in each pass;
/// nullopt when a tile mask is not in the schedule.
inline std::optional<Counted> attendedPairs(const traces::Trace& trace) {
  Counted pairs;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const traces::Event& event : trace.events(traces::WorldRank::of(rank))) {
      if (event.kind != traces::EventKind::kAttend) continue;
      auto band = traces::bandFor(event, nullptr);
      if (event.mask == traces::PieceMask::kTileMask) {
        const auto planned = plannedBand(trace, event);
        if (!planned) return std::nullopt;
        band = *planned;
      }
      auto pair = numbersFrom(event.place);
      pair.back() = rank;  // the ring step does not matter
      for (auto q = band.q_begin; q < band.q_end; ++q)
        for (auto k = band.k_begin; k < band.k_end; ++k) {
          if (k - q < band.low || k - q > band.high) continue;
          auto numbers = pair;
          numbers.insert(numbers.end(), {event.source_rank.value(), q, k});
          ++pairs[numbers];
        }
    }
  return pairs;
}

/// Reports whether a query attends keys of several blocks.
inline bool mergesBlocks(const traces::Trace& trace) {
  const auto pairs = attendedPairs(trace);
  if (!pairs) return true;
  std::map<std::vector<std::int64_t>, std::int64_t> source_of;
  for (const auto& [pair, times] : *pairs) {
    const std::vector<std::int64_t> query = {pair[0], pair[1], pair[2], pair[3], pair[5]};
    const auto [at, added] = source_of.try_emplace(query, pair[4]);
    if (!added && at->second != pair[4]) return true;
  }
  return false;
}

/// Reports whether ranks did the same, with whatever results: the pairs that they attended, and the
/// number of messages of each block that they sent.
inline bool sameDeeds(const traces::Trace& a, const traces::Trace& b) {
  const auto deeds = [](const traces::Trace& trace) {
    Counted all;
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      for (const traces::Event& event : trace.events(traces::WorldRank::of(rank))) {
        if (event.kind != traces::EventKind::kAttend && event.kind != traces::EventKind::kSend)
          continue;
        auto deed = numbersFrom(event.place);
        deed.insert(deed.end(),
                    {rank, static_cast<std::int64_t>(event.kind),
                     static_cast<std::int64_t>(event.mask), event.q_begin, event.q_end,
                     event.k_begin, event.k_end, event.source_rank.value(), event.peer.value()});
        ++all[deed];
      }
    return all;
  };
  return deeds(a) == deeds(b);
}

/// Reports whether a rank attends the pairs that were intended for the same rank of another
/// sequence. Without token ids it could then have read another batch.
inline bool attendsForAnother(const traces::Trace& right, const traces::Trace& wrong) {
  const auto meant = attendedPairs(right), attended = attendedPairs(wrong);
  if (!meant || !attended || *meant == *attended) return false;
  const auto of_group = [](const Counted& pairs, const std::vector<traces::WorldRank>& members) {
    Counted own;
    for (const auto& [numbers, times] : pairs) {
      auto pair = numbers;
      const auto seat_of = [&](std::int64_t rank) {
        return std::ranges::find(members, rank, &traces::WorldRank::value) - members.begin();
      };
      if (seat_of(pair[3]) == std::ssize(members)) continue;
      pair[3] = seat_of(pair[3]);
      pair[4] = seat_of(pair[4]);
      own[pair] = times;
    }
    return own;
  };
  const auto groups = traces::sequenceGroups(right);
  return std::ranges::any_of(groups, [&](const auto& one) {
    const Counted does = of_group(*attended, one);
    return does != of_group(*meant, one) && std::ranges::any_of(groups, [&](const auto& other) {
             return does == of_group(*meant, other);
           });
  });
}

}  // namespace ringscope::test
