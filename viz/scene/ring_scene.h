// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "traces/query/moment_index.h"
#include "traces/query/trace.h"

namespace ringscope::viz {

using traces::Place;

/// A cell of the (query chunk × key chunk) matrix of one rank.
struct CoverageCell {
  int query_chunk = 0, key_chunk = 0;
  int source_rank = 0;
  bool diagonal = false;  ///< only the causal half
  bool now = false;       ///< attended in this ring step, otherwise in an earlier one
};

/// A packet between two ranks. Progress runs from 0 at the sender to 1 at the receiver.
struct MovingPacket {
  traces::Payload payload = traces::Payload::kKv;
  int from = 0, to = 0, source_rank = 0;
  std::int64_t bytes = 0;
  double begin = 0, end = 1;  ///< of the ring step, between which it travels on screen
  bool stretched = false;     ///< recorded shorter than can be seen: not to scale
};

/// What one rank does in a ring step.
struct RankScene {
  int rank = 0;
  Place place;  ///< the same for all on the logical axis; may differ on the time axis
  std::int64_t begin_ns = 0,
               end_ns = 0;   ///< of its own work in this ring step; 0, 0: none recorded
  std::vector<int> chunks;   ///< that it owns
  int held_source = -1;      ///< whose KV block it holds; -1: not recorded
  std::vector<int> sources;  ///< whose blocks it attends in this step: all of them when gathered
  std::vector<CoverageCell> cells;
  std::string attending;                 ///< "queries 2, 5 × keys 1", or why nothing is attended
  std::int64_t queries = 0;              ///< query rows attended in this step
  double lse_before = 0, lse_after = 0;  ///< mean over rows; NaN when not recorded or not risen yet
  std::int64_t wait_ns = 0;
  int waits_for = -1;
  std::int64_t attend_ns = 0;
  double wait_begin = 1;  ///< of the ring step, when waiting starts
};

/// One ring step of all ranks, as recorded; a finished value that a painter draws.
struct RingScene {
  Place place;
  int ring_steps = 0;  ///< of this layer and direction
  int chunk_count = 0;
  int heads_shared_by = 1;  ///< ranks among which Ulysses has turned the sequence into heads
  std::vector<RankScene> ranks;
  std::vector<MovingPacket> packets;
  std::string sentence;  ///< what happens, with real numbers
};

/// On screen a ring step takes this long, and a hop at least that part of it: an eye needs half a
/// second to follow a block from card to card, and loses it in less.
inline constexpr double kStepSeconds = 1.2;
inline constexpr double kShortestHop = 0.5 / kStepSeconds;

/// The scene in which every rank stands at its own place. `selected` is the rank whose place is the
/// scene's, and whom the sentence is about.
RingScene ringScene(const traces::Trace& trace, const traces::MomentIndex& index,
                    const std::vector<Place>& places, int selected);

/// Ranks among which Ulysses has turned the sequence into heads; 1: it has not.
int headsSharedBy(const traces::Trace& trace);

/// The tokens of every chunk, in the order of the sequence; empty when chunks are interleaved.
std::vector<traces::TokenRun> chunkRanges(const traces::Trace& trace, int train_step);

/// From the begin to the end of a rank's own work in a ring step; {0, 0} when none is recorded.
std::pair<std::int64_t, std::int64_t> stageWindow(const traces::Trace& trace,
                                                  const traces::MomentIndex& index,
                                                  const Place& place, int rank);

/// "0, 7" or "0–7": three or more in a row as a range.
std::string listedChunks(std::vector<int> numbers);

/// "128 KiB", "2.1 MiB"; "38 µs", "1.2 ms": as people say it.
std::string describeBytes(std::int64_t bytes);
std::string describeDuration(std::int64_t ns);

}  // namespace ringscope::viz
