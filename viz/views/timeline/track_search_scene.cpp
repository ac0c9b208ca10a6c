// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/track_search_scene.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <sstream>

#include "traces/format/schema/names.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;

namespace {

std::optional<std::int64_t> unitOf(const std::string& word) {
  static const std::map<std::string, std::int64_t> kUnits = {
      {"ns", 1}, {"us", 1000}, {"µs", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
  const auto found = kUnits.find(word);
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint8_t> kindNamed(const std::string& word) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(EventKind::kCount); ++i)
    if (word == traces::name(static_cast<EventKind>(i))) return static_cast<std::uint8_t>(i);
  return std::nullopt;
}

/// Reads words one after the other; numbers follow what they are about.
class Reader {
 public:
  explicit Reader(const std::string& words) : in_(words) {}

  TrackQuery read() {
    for (std::string word; in_ >> word;) {
      std::ranges::transform(word, word.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      if (!take(word) && query_.problem.empty()) query_.problem = describeProblem(word);
    }
    return query_;
  }

 private:
  bool number(std::optional<int>& to) {
    int value = 0;
    if (!(in_ >> value)) return false;
    to = value;
    return true;
  }
  bool longer() {
    double value = 0;
    std::string unit;
    if (!(in_ >> value >> unit)) return false;
    const auto scale = unitOf(unit);
    constexpr double kLongest = 9e18;  // what nanoseconds can count
    if (!scale || value < 0 || value * static_cast<double>(*scale) > kLongest) return false;
    query_.longer_ns = static_cast<std::int64_t>(value * static_cast<double>(*scale));
    return true;
  }
  static std::string describeProblem(const std::string& word) {
    const std::string quoted = "'" + word + "'";
    if (word == ">") return quoted + " needs a length, such as 2 ms";
    const bool counts =
        word == "kv" || word == "block" || word == "rank" || word == "step" || word == "layer";
    return counts ? quoted + " needs a number" : quoted + " means nothing here";
  }
  bool take(const std::string& word) {
    if (word == "kv" || word == "block") return number(query_.source);
    if (word == "rank") return number(query_.rank);
    if (word == "step") return number(query_.step);
    if (word == "layer") return number(query_.layer);
    if (word == ">") return longer();
    if (word == "forward") query_.direction = traces::Direction::kForward;
    if (word == "backward") query_.direction = traces::Direction::kBackward;
    if (word == "forward" || word == "backward") return true;
    const auto kind = kindNamed(word);
    if (kind) query_.kinds.push_back(*kind);
    return kind.has_value();
  }

  std::istringstream in_;
  TrackQuery query_;
};

/// Looks along one lane.
class Finder {
 public:
  Finder(const EventsAt& events_at, const Tracks& tracks, const TrackQuery& query)
      : events_at_(events_at), tracks_(tracks), query_(query) {}

  /// The nearest to the begin, or with `back` to the end, of a stretch of the axis.
  std::optional<SpanPlace> find(WorldRank rank, LaneKind kind, double begin_ns, double end_ns,
                                bool back) {
    const SpanTree& lane = tracks_.of(rank)->lane(kind);
    // Among many spans, the search goes on in growing parts.
    for (double length = (end_ns - begin_ns) / 4096;; length *= 4) {
      const bool all = length >= end_ns - begin_ns;
      const double from = back && !all ? end_ns - length : begin_ns;
      const double to = back || all ? end_ns : begin_ns + length;
      if (auto found = among(lane, rank, kind, from, to, back)) return found;
      if (all) return std::nullopt;
    }
  }

 private:
  std::optional<SpanPlace> among(const SpanTree& lane, WorldRank rank, LaneKind kind, double from,
                                 double to, bool back) {
    std::optional<SpanPlace> found;
    lane.visit(
        from, to, -1, [](const SpanSum&, std::size_t) {},
        [&](std::size_t i) {
          const Span& span = lane[i];
          const auto at = static_cast<double>(span.begin_ns);
          if (at < from || at > to || (found && !back)) return;
          const SpanPlace place{rank, kind, span};
          if (matches(place)) found = place;
        });
    return found;
  }
  bool matches(const SpanPlace& place) {
    const Span& span = place.span;
    if (!query_.kinds.empty() && std::ranges::find(query_.kinds, span.kind) == query_.kinds.end())
      return false;
    if (query_.source && span.source != *query_.source) return false;
    if (span.length() <= query_.longer_ns) return false;
    if (!query_.needsPlace() && !query_.step) return true;
    return std::ranges::any_of(events_at_(place), [&](const traces::Event& event) {
      return (!query_.step || event.place.train_step == *query_.step) &&
             (!query_.layer || event.place.layer == Layer::of(*query_.layer)) &&
             (!query_.direction || event.place.direction == *query_.direction);
    });
  }

  const EventsAt& events_at_;
  const Tracks& tracks_;
  const TrackQuery& query_;
};

}  // namespace

TrackQuery parseTrackQuery(const std::string& words) {
  return Reader(words).read();
}

std::optional<SpanPlace> findSpan(const EventsAt& events_at, const Tracks& tracks,
                                  const std::vector<WorldRank>& ranks, const TrackQuery& query,
                                  double axis_ns, bool back) {
  // After what was found last, and before it.
  double begin = back ? static_cast<double>(tracks.begin_ns) : axis_ns + 0.5;
  double end = back ? axis_ns - 0.5 : static_cast<double>(tracks.end_ns);
  if (query.step) {
    const StepTrack* step = tracks.step(*query.step);
    if (!step) return std::nullopt;
    begin = std::max(begin, static_cast<double>(step->begin_ns));
    end = std::min(end, static_cast<double>(step->end_ns));
  }
  if (end < begin) return std::nullopt;
  Finder finder(events_at, tracks, query);
  std::optional<SpanPlace> nearest;
  for (const WorldRank rank : ranks) {
    if (!tracks.of(rank) || (query.rank && rank.value() != *query.rank)) continue;
    for (std::size_t lane = 0; lane < kLaneKinds; ++lane) {
      const auto found = finder.find(rank, static_cast<LaneKind>(lane), begin, end, back);
      const auto nearer = [&](const SpanPlace& a, const SpanPlace& b) {
        return back ? a.span.begin_ns > b.span.begin_ns : a.span.begin_ns < b.span.begin_ns;
      };
      if (found && (!nearest || nearer(*found, *nearest))) nearest = found;
    }
  }
  return nearest;
}

std::optional<SpanPlace> findSpan(const traces::Trace& trace, const Tracks& tracks,
                                  const std::vector<WorldRank>& ranks, const TrackQuery& query,
                                  double axis_ns, bool back) {
  const auto recorded = [&](const SpanPlace& at) { return spanEvents(trace, tracks, at); };
  return findSpan(recorded, tracks, ranks, query, axis_ns, back);
}

}  // namespace ringscope::viz
