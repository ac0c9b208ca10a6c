// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/go_to.h"

#include <algorithm>
#include <optional>
#include <set>

#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/chunks.h"
#include "viz/scene/groups.h"
#include "viz/scene/ring_scene.h"
#include "viz/scene/token_rows.h"

namespace ringscope::viz {

using traces::Event;
using traces::Trace;

namespace {

/// A place that the recording does not have; `sentence` says what is accepted.
struct NotFound {
  std::string sentence;
};

bool isAskedFor(const Place& place, const PlaceWords& words) {
  return (!words.train_step || place.train_step == *words.train_step) &&
         (!words.layer || place.layer == *words.layer) &&
         (!words.direction || place.direction == *words.direction) &&
         (!words.ring_step || place.stage == *words.ring_step);
}

std::string listNumbered(const std::string& noun, const std::set<int>& numbers) {
  return noun + (numbers.size() == 1 ? " " : "s ") +
         listedNumbers(std::vector<int>(numbers.begin(), numbers.end()));
}

/// Keeps the places whose `part` is the asked one. Throws NotFound, with the parts that exist, when
/// none is left.
template <typename Part>
void keepPlaces(std::vector<Place>& places, const std::string& noun, int asked, const Part& part) {
  std::set<int> known;
  for (const Place& place : places) known.insert(part(place));
  std::erase_if(places, [&](const Place& place) { return part(place) != asked; });
  if (places.empty())
    throw NotFound{"There is no " + noun + " " + std::to_string(asked) + " here; accepted " +
                   (known.size() == 1 ? "is " : "are ") + listNumbered(noun, known) + "."};
}

/// Keeps the places with the part that `from` has, or else with that of the first place.
template <typename Part>
void stayAt(std::vector<Place>& places, const Place& from, const Part& part) {
  const bool has =
      std::ranges::any_of(places, [&](auto& each) { return part(each) == part(from); });
  const int wanted = part(has ? from : places.front());
  std::erase_if(places, [&](const Place& place) { return part(place) != wanted; });
}

int stepNumber(const Place& place) {
  return place.train_step;
}
int layerNumber(const Place& place) {
  return place.layer.value();
}
int directionNumber(const Place& place) {
  return static_cast<int>(place.direction);
}
int ringStepNumber(const Place& place) {
  return place.stage.value();
}

/// Returns the places of the recording that the words allow, in order. The training step, the layer
/// and the direction stay where they are unless they are named.
std::vector<Place> findPlaces(const Trace& trace, const Place& from, const PlaceWords& words) {
  std::vector<Place> places = trace.moments();
  if (words.train_step) keepPlaces(places, "step", *words.train_step, stepNumber);
  if (!words.train_step) stayAt(places, from, stepNumber);
  if (words.layer) keepPlaces(places, "layer", words.layer->value(), layerNumber);
  if (!words.layer) stayAt(places, from, layerNumber);
  if (words.direction) {
    const std::string wanted = traces::name(*words.direction);
    std::erase_if(places, [&](const Place& place) { return place.direction != *words.direction; });
    if (places.empty())
      throw NotFound{"The recording has no " + wanted + " pass here; accepted is " +
                     (*words.direction == traces::Direction::kForward ? "backward." : "forward.")};
  }
  if (!words.direction) stayAt(places, from, directionNumber);
  if (words.ring_step) keepPlaces(places, "ring step", words.ring_step->value(), ringStepNumber);
  return places;
}

void goToRank(const Trace& trace, Cursor& cursor, WorldRank rank) {
  std::set<int> known;
  for (const Group& group : listGroups(trace))
    for (const WorldRank each : group.ranks) known.insert(each.value());
  if (!known.contains(rank.value()))
    throw NotFound{"There is no rank " + toString(rank) + " here; accepted are " +
                   listNumbered("rank", known) + "."};
  const auto ranks = groupRanks(trace, cursor.group);
  if (std::ranges::find(ranks, rank) == ranks.end())
    cursor.group = groupWith(trace, rank, cursor.group);
  if (cursor.rank != rank) cursor.token = TokenIndex::none();
  cursor.rank = rank;
}

void goToToken(const Trace& trace, Cursor& cursor, const PlaceWords& words) {
  const TokenIndex token = *words.token;
  const std::int32_t train_step = cursor.place.train_step;
  const std::string name = "token " + toString(token);
  Cursor found = cursor;
  if (!words.rank)
    found = cursorOnToken(trace, cursor, token);
  else
    found.token = findTokenRow(trace, train_step, cursor.rank, token) ? token : TokenIndex::none();
  if (found.token.exists()) {
    cursor = found;
    return;
  }
  std::int64_t last = -1;
  for (const Group& group : listGroups(trace))
    for (const WorldRank rank : group.ranks)
      if (!words.rank || rank == cursor.rank)
        for (const auto& run : ownTokenRuns(trace, train_step, rank))
          last = std::max(last, run.global(run.count - 1));
  if (last < 0)
    throw NotFound{"The owner of " + name + " is not recorded; " +
                   traces::captureAdvice(trace, "stats", "would show it") + "."};
  throw NotFound{words.rank && token.value() <= last
                     ? "Rank " + toString(cursor.rank) + " does not own " + name +
                           "; accepted is “" + name + "” without a rank."
                     : "There is no " + name + " here; accepted are tokens 0 to " +
                           std::to_string(last) + "."};
}

/// Returns the phase at which the message is half-way on the screen.
double halfWay(const Trace& trace, const Place& place, const Event& send) {
  const StageWindow window = stageWindow(trace, place, send.rank);
  const double shown =
      std::max(window.fraction(send.end_ns) - window.fraction(send.start_ns), kShortestHop);
  return std::clamp(std::min(window.fraction(send.start_ns), 1 - shown) + shown / 2, 0.0, 1.0);
}

void goToHop(const Trace& trace, Cursor& cursor, const PlaceWords& words) {
  const auto [from, to] = *words.hop;
  for (const WorldRank rank : {to, from}) goToRank(trace, cursor, rank);
  const auto& moments = trace.moments();
  const auto step_first = std::ranges::find(moments, cursor.place.train_step, &Place::train_step);
  Place step_last = *step_first;
  for (auto at = step_first; at != moments.end() && at->train_step == step_first->train_step; ++at)
    step_last = *at;
  std::set<int> peers;
  std::optional<Event> best;
  const auto order = [&](const Place& place) {  // this pass first, and what is still to come
    Place pass = place;
    pass.stage = cursor.place.stage;
    return std::pair(pass != cursor.place, traces::before(place, cursor.place));
  };
  for (const Event& event : trace.eventsAt(*step_first, step_last, from)) {
    if (event.kind != traces::EventKind::kSend || event.peer.isNone()) continue;
    if (!isAskedFor(event.place, words)) continue;
    peers.insert(event.peer.value());
    const bool here = event.peer == to && std::binary_search(moments.begin(), moments.end(),
                                                             event.place, traces::before);
    if (here && (!best || order(event.place) < order(best->place))) best = event;
  }
  if (!best)
    throw NotFound{"Rank " + toString(from) + " sends nothing to rank " + toString(to) + " here; " +
                   (peers.empty()
                        ? "no hop of it is recorded."
                        : "accepted are hops from it to " + listNumbered("rank", peers) + ".")};
  cursor.place = best->place;
  cursor.phase = halfWay(trace, best->place, *best);
}

std::string describeTarget(const Trace& trace, const Cursor& cursor, const PlaceWords& words) {
  std::string said = traces::describe(cursor.place) + " · rank " + toString(cursor.rank);
  if (words.hop) said += " · sends to rank " + toString(words.hop->to);
  if (!words.token) return said;
  const auto row = findTokenRow(trace, cursor.place.train_step, cursor.rank, cursor.token);
  return said + " · token " + toString(cursor.token) +
         (row ? ", local row " + std::to_string(*row) : "");
}

}  // namespace

Cursor cursorOnToken(const Trace& trace, Cursor cursor, TokenIndex token) {
  std::vector<WorldRank> ranks = {cursor.rank};
  for (const WorldRank rank : groupRanks(trace, cursor.group)) ranks.push_back(rank);
  for (const Group& group : listGroups(trace))
    ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
  const auto owner = std::ranges::find_if(ranks, [&](const WorldRank rank) {
    return findTokenRow(trace, cursor.place.train_step, rank, token).has_value();
  });
  cursor.token = owner == ranks.end() ? TokenIndex::none() : token;
  if (owner == ranks.end()) return cursor;
  const auto own = groupRanks(trace, cursor.group);
  if (std::ranges::find(own, *owner) == own.end())
    cursor.group = groupWith(trace, *owner, cursor.group);
  cursor.rank = *owner;
  return cursor;
}

GoToTarget findTarget(const Trace& trace, const Cursor& from, const PlaceWords& words) {
  if (!words.problem.empty()) return {from, false, words.problem};
  if (trace.moments().empty())
    return {from, false,
            "No ring step is recorded yet; accepted are places of a recording, such as " +
                std::string(kAcceptedPlaces) + "."};
  Cursor cursor = from;
  try {
    const bool names_place = words.train_step || words.layer || words.direction || words.ring_step;
    if (names_place) {
      cursor.place = findPlaces(trace, from.place, words).front();
      cursor.phase = 0;
    }
    if (words.rank) goToRank(trace, cursor, *words.rank);
    if (words.hop) goToHop(trace, cursor, words);
    if (words.token) goToToken(trace, cursor, words);
  } catch (const NotFound& why) {
    return {from, false, why.sentence};
  }
  return {cursor, true, describeTarget(trace, cursor, words)};
}

}  // namespace ringscope::viz
