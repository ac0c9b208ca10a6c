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

// What ranks did, counted one by one: which pairs they attended, and what they sent.
namespace ringscope::test {

/// Of a tile mask, by the schedule's piece with the same rows; nothing where there is none.
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

inline std::vector<std::int64_t> numbersOf(const traces::Place& place) {
  return {place.train_step, place.layer.value(), static_cast<std::int64_t>(place.direction),
          place.stage.value()};
}

/// How often each rank attends each (query row, key row) of each block, pass by pass; nothing where
/// a tile mask is none of the schedule's.
inline std::optional<Counted> attendedPairs(const traces::Trace& trace) {
  Counted pairs;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const traces::Event& event : trace.events(traces::WorldRank::of(rank))) {
      if (event.kind != traces::EventKind::kAttend) continue;
      auto band = traces::bandOf(event, nullptr);
      if (event.mask == traces::PieceMask::kTileMask) {
        const auto planned = plannedBand(trace, event);
        if (!planned) return std::nullopt;
        band = *planned;
      }
      auto pair = numbersOf(event.place);
      pair.back() = rank;  // whatever the ring step
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

/// Whether a query attends keys of several blocks.
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

/// Whether ranks did the same, whatever came of it: what they attended, and how many messages of
/// which block they sent.
inline bool sameDeeds(const traces::Trace& a, const traces::Trace& b) {
  const auto deeds = [](const traces::Trace& trace) {
    Counted all;
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      for (const traces::Event& event : trace.events(traces::WorldRank::of(rank))) {
        if (event.kind != traces::EventKind::kAttend && event.kind != traces::EventKind::kSend)
          continue;
        auto deed = numbersOf(event.place);
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

/// Whether a rank attends, of each of its blocks, the pairs that were meant for the same rank of
/// another sequence, so that without token ids it may as well have read another batch.
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
