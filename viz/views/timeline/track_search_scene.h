// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "viz/views/timeline/span_details_scene.h"

namespace ringscope::viz {

/// A search on lanes: "attend kv 2 rank 1 > 3 ms", "wait layer 1 backward step 4".
struct TrackQuery {
  std::vector<std::uint8_t> kinds;  ///< traces::EventKind; empty: any
  std::optional<int> source, rank, step, layer;
  std::optional<traces::Direction> direction;
  std::int64_t longer_ns = -1;  ///< than this; −1: as long as it likes
  std::string problem;          ///< what was not understood; empty: all was

  bool needsPlace() const { return layer || direction; }
};
/// Words: a kind of event (attend, send, wait, …), "kv N" or "block N", "rank N", "step N", "layer
/// N", forward, backward, "> N unit".
TrackQuery parseTrackQuery(const std::string& words);

/// The events that a stretch may have been made of.
using EventsAt = std::function<std::vector<traces::Event>(const SpanPlace&)>;

/// The first stretch that begins after `axis_ns`, or the last one before it, among these ranks.
/// Nothing: there is none. Goes over sums in which none can be.
std::optional<SpanPlace> findSpan(const EventsAt& events_at, const Tracks& tracks,
                                  const std::vector<WorldRank>& ranks, const TrackQuery& query,
                                  double axis_ns, bool back);
/// Among those of a recording.
std::optional<SpanPlace> findSpan(const traces::Trace& trace, const Tracks& tracks,
                                  const std::vector<WorldRank>& ranks, const TrackQuery& query,
                                  double axis_ns, bool back);

}  // namespace ringscope::viz
