// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/fields.h"
#include "traces/format/schema/place.h"
#include "traces/format/schema/tensor_key.h"

namespace ringscope::traces {

/// The number of events of a chunk at one place.
struct PlaceCount {
  Place place;
  std::uint32_t events = 0;
  friend bool operator==(const PlaceCount&, const PlaceCount&) = default;
};

/// The events of one rank in a chunk.
struct RankSummary {
  WorldRank rank = WorldRank::of(0);
  std::uint32_t events = 0;
  std::uint32_t pending = 0;       ///< number of events whose times come later, in a TimesRecord
  std::int64_t begin_ns = 0;       ///< smallest begin of any event, as the chunk has it
  std::int64_t end_ns = 0;         ///< largest end of any event
  std::vector<PlaceCount> places;  ///< each place once, in the order in which a rank visits them
  friend bool operator==(const RankSummary&, const RankSummary&) = default;
};

/// A summary of a chunk of events. It is written beside the chunk so that a reader decodes only the
/// chunks that it needs. It is a claim: the chunk itself is authoritative.
struct EventSummary {
  std::uint64_t checksum = 0;      ///< checksum of the chunk that is summarised
  std::vector<RankSummary> ranks;  ///< ascending
  friend bool operator==(const EventSummary&, const EventSummary&) = default;
};

/// Returns the summary of a chunk with these events. Its checksum stays 0.
EventSummary summarizeEvents(std::span<const Event> events);

template <>
struct Fields<PlaceCount> {
  static void visit(auto&& field, auto& p) {
    field("place", p.place);
    field("events", p.events);
  }
};
template <>
struct Fields<RankSummary> {
  static void visit(auto&& field, auto& r) {
    field("rank", r.rank);
    field("events", r.events);
    field("pending", r.pending);
    field("begin_ns", r.begin_ns);
    field("end_ns", r.end_ns);
    field("places", r.places);
  }
};
template <>
struct Fields<EventSummary> {
  static void visit(auto&& field, auto& s) {
    field("checksum", s.checksum);
    field("ranks", s.ranks);
  }
};

}  // namespace ringscope::traces
