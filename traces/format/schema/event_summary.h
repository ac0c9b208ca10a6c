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

/// How many events of a chunk are at one place.
struct PlaceCount {
  Place place;
  std::uint32_t events = 0;
  friend bool operator==(const PlaceCount&, const PlaceCount&) = default;
};

/// What a chunk of events holds of one rank.
struct RankSummary {
  WorldRank rank = WorldRank::of(0);
  std::uint32_t events = 0;
  std::uint32_t pending = 0;       ///< events whose times come later, in a TimesRecord
  std::int64_t begin_ns = 0;       ///< the smallest begin of any event, as the chunk has it
  std::int64_t end_ns = 0;         ///< the largest end
  std::vector<PlaceCount> places;  ///< each once, in the order of visiting
  friend bool operator==(const RankSummary&, const RankSummary&) = default;
};

/// What a chunk of events holds, written beside it so that a reader decodes only the chunks that it
/// needs. It is a claim: the chunk itself says what is true.
struct EventSummary {
  std::uint64_t checksum = 0;      ///< of the chunk that it is about
  std::vector<RankSummary> ranks;  ///< ascending
  friend bool operator==(const EventSummary&, const EventSummary&) = default;
};

/// The summary of a chunk with these events; its checksum is left 0.
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
