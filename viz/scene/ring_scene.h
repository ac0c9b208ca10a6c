// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "viz/scene/chunks.h"
#include "viz/scene/cursor.h"
#include "viz/scene/data.h"
#include "viz/scene/stage_window.h"

namespace ringscope::viz {

/// A packet between two ranks. Progress runs from 0 at the sender to 1 at the receiver.
struct MovingPacket {
  traces::Payload payload = traces::Payload::kKv;
  WorldRank from = WorldRank::of(0), to = WorldRank::of(0), source_rank = WorldRank::of(0);
  std::int64_t bytes = 0;
  double begin = 0, end = 1;  ///< of the ring step, between which it travels on screen
  bool stretched = false;     ///< recorded shorter than can be seen: not to scale

  friend bool operator==(const MovingPacket&, const MovingPacket&) = default;
};

/// The mean log-sum-exp of a rank's rows after a ring step, over those that have seen a key.
struct MeanLse {
  double mean = 0;
  std::int64_t rows = 0;  ///< that have seen a key, over all heads; 0: not recorded, or none has

  bool known() const { return rows > 0; }
  friend bool operator==(const MeanLse&, const MeanLse&) = default;
};

/// A wait for blocks or heads, within the rank's ring step.
struct Waiting {
  double begin = 0, end = 1;  ///< of the ring step
  std::int64_t ns = 0;
  WorldRank peer;  ///< for whom; none: not recorded

  friend bool operator==(const Waiting&, const Waiting&) = default;
};

/// The work of one rank in a ring step.
struct RankScene {
  WorldRank rank = WorldRank::of(0);
  Place place;              ///< the same for all on the logical axis; may differ on the time axis
  StageWindow window;       ///< of its own work in this ring step
  std::vector<int> chunks;  ///< that it owns
  WorldRank held_source;    ///< whose KV block it holds; none: not recorded, or several blocks
  std::vector<WorldRank>
      sources;  ///< whose blocks it attends in this step: several when they are gathered
  std::vector<CoverageCell> cells;
  std::string attending;     ///< "queries 2, 5 × keys 1", or why nothing is attended
  std::string idle;          ///< where nothing is attended: why, in a few words
  std::int64_t queries = 0;  ///< query rows attended in this step
  bool known = true;         ///< false: no stage of this step is recorded
  MeanLse lse_before, lse_after;
  std::int64_t wait_ns = 0;       ///< for blocks and heads
  std::int64_t sums_wait_ns = 0;  ///< for dK and dV, when the work of the ring step is over
  std::vector<Waiting> waits;     ///< for blocks and heads: in the order of recording
  WorldRank waits_for;            ///< in all of these; none: for several ranks, or for nobody
  std::int64_t attend_ns = 0;

  /// Its mean has risen over the same rows.
  bool lseRises() const { return lse_before.known() && lse_before.rows == lse_after.rows; }
};

/// One ring step of the ranks of a group, as recorded.
struct RingScene {
  Place place;  ///< of the selected rank
  Axis axis = Axis::kRingStep;
  WorldRank selected = WorldRank::of(0);  ///< the rank that the sentence is about
  int ring_steps = 0;                     ///< of this layer and direction
  int chunk_count = 0;
  int heads_shared_by = 1;  ///< ranks among which Ulysses has turned the sequence into heads
  std::vector<std::vector<WorldRank>> rings;  ///< round which KV goes: several in a hybrid group
  std::vector<RankScene> ranks;               ///< a seat each, in the order of the group
  std::vector<MovingPacket> packets;
  std::string sentence;  ///< what happens, with real numbers
  std::string note;      ///< why there are no ranks; empty when there are

  /// Returns the seat of a rank in the ring; none when it is not in the group.
  GroupRank rankSeat(WorldRank rank) const;
  const RankScene& selectedRank() const;
  /// "2 rings: ranks 0, 2 · ranks 1, 3"; empty where there is one.
  std::string ringsText() const;
};

/// The time of a ring step on the screen, and the least share of it that a hop takes. An eye needs
/// half a second to follow a block from card to card.
inline constexpr double kStepSeconds = 1.2;
inline constexpr double kShortestHop = 0.5 / kStepSeconds;

/// Returns the work of the ranks of the cursor's group at its moment; without ranks while nothing
/// is recorded. On the time axis, every rank is shown at the instant of the selected rank's phase.
/// `live` means that the trace still grows.
RingScene makeRingScene(const traces::Trace& trace, const Cursor& cursor, bool live = false);

/// The instant on the run's clock that the selected rank's phase means.
std::int64_t instantAt(const RingScene& scene, double phase);

/// How far a rank is in its own ring step when the selected one is at `phase`.
double rankPhase(const RingScene& scene, const RankScene& rank, double phase);

}  // namespace ringscope::viz
