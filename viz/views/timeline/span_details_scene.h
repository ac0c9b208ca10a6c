// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "viz/scene/tracks.h"

namespace ringscope::viz {

/// A stretch of some rank's lane.
struct SpanPlace {
  WorldRank rank;  ///< none: nothing
  LaneKind lane = LaneKind::kCompute;
  Span span;

  bool exists() const { return rank.exists(); }
  friend bool operator==(const SpanPlace&, const SpanPlace&) = default;
};

/// The stretch of a lane that is nearest to a point of the axis, within `tolerance_ns`; of several
/// as near the shortest.
std::optional<Span> spanAt(const SpanTree& lane, double axis_ns, double tolerance_ns);

/// Returns the name of a bar with enough room: "KV 3", "norm, q k v", "64 MiB".
std::string spanLabel(const Span& span, std::int64_t bytes);

/// The events that a stretch may have been made of: more than one where a rank did the same at once
/// in several places. None when they cannot be found any more. Decodes the chunk that holds them.
std::vector<traces::Event> spanEvents(const traces::Trace& trace, const Tracks& tracks,
                                      const SpanPlace& at);
/// The first of them.
std::optional<traces::Event> spanEvent(const traces::Trace& trace, const Tracks& tracks,
                                       const SpanPlace& at);

/// The details of an event.
struct SpanDetails {
  std::string title;  ///< "attends block 3"
  std::vector<std::pair<std::string, std::string>> rows;
};
SpanDetails spanDetails(const traces::Event& event);
/// In lines, for a tooltip.
std::string detailWords(const SpanDetails& details);

}  // namespace ringscope::viz
