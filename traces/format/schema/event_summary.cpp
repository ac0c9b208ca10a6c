// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/event_summary.h"

#include <algorithm>
#include <map>

namespace ringscope::traces {
namespace {

/// Returns each place once with its number of events, in the order in which a rank visits places.
std::vector<PlaceCount> countPlaces(std::vector<Place> places) {
  // The events of one rank are nearly always sorted already.
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  std::vector<PlaceCount> counts;
  for (const Place& place : places) {
    if (counts.empty() || !(counts.back().place == place)) counts.push_back({place, 0});
    ++counts.back().events;
  }
  return counts;
}

}  // namespace

EventSummary summarizeEvents(std::span<const Event> events) {
  struct OfRank {
    RankSummary summary;
    std::vector<Place> places;
  };
  std::map<WorldRank::Value, OfRank> ranks;
  for (const Event& event : events) {
    auto [at, is_new] = ranks.try_emplace(event.rank.value());
    RankSummary& summary = at->second.summary;
    if (is_new) summary = {event.rank, 0, 0, event.begin_ns, event.end_ns, {}};
    ++summary.events;
    summary.pending += event.pending != 0;
    summary.begin_ns = std::min(summary.begin_ns, event.begin_ns);
    summary.end_ns = std::max(summary.end_ns, event.end_ns);
    at->second.places.push_back(event.place);
  }
  EventSummary summary;
  for (auto& [rank, of_rank] : ranks) {
    of_rank.summary.places = countPlaces(std::move(of_rank.places));
    summary.ranks.push_back(std::move(of_rank.summary));
  }
  return summary;
}

}  // namespace ringscope::traces
