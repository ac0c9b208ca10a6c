// SPDX-License-Identifier: Apache-2.0
// Checks the lanes: the bar under a point, the event of a bar, the messages within a range, the
// results of a search, and how pixels share time.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>

#include "tests/facts/drawing.h"
#include "tests/facts/said.h"
#include "tests/facts/span_facts.h"
#include "tests/facts/timeline_facts.h"
#include "viz/views/timeline/lane_sample_scene.h"
#include "viz/views/timeline/track_search_scene.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::EventKind;
using traces::WorldRank;

/// A recording, its tracks, and its events as lanes should have them.
class Lanes {
 public:
  Lanes(const traces::Trace& trace, std::mt19937& random)
      : trace_(trace),
        random_(random),
        tracks_(viz::makeTracks(trace)),
        axis_(trace, INT32_MIN, INT32_MAX) {
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      for (const Event& event : trace.events(WorldRank::of(rank)))
        if (const LaneEvent at = laneEvent(event, axis_); at.lane >= 0)
          all_.emplace_back(event, at);
  }

  void expect() {
    if (all_.empty()) return;
    for (int i = 0; i < 4; ++i) {
      expectBar();
      expectUnderPoint();
      expectRange();
      expectFound();
    }
    expectPixels();
  }

 private:
  using Each = std::pair<Event, LaneEvent>;

  const Each& any() { return all_[random_() % all_.size()]; }
  double anyTime() {
    const double spread = drawn(random_, 0, 2) == 0 ? tracks_->all().length() / 8 : 1;
    return static_cast<double>(any().second.begin) + spread * drawn(random_, -2, 2);
  }
  const viz::SpanTree& eventLane(const Each& each) const {
    return tracks_->of(each.first.rank)->lane(static_cast<viz::LaneKind>(each.second.lane));
  }

  void expectBar() {
    const auto& [event, at] = any();
    const viz::SpanTree& lane = eventLane({event, at});
    const std::size_t i = random_() % lane.size();
    const viz::SpanPlace place{event.rank, static_cast<viz::LaneKind>(at.lane), lane[i]};
    const auto found = viz::spanEvent(trace_, *tracks_, place);
    ASSERT_TRUE(found) << "a bar of no event, at " << lane[i].begin_ns << " of rank "
                       << event.rank.value();
    LaneEvent of_event = laneEvent(*found, axis_);
    const LaneEvent shown{at.lane,        lane[i].begin_ns,   lane[i].end_ns, of_event.bytes,
                          lane[i].source, lane[i].peer_index, lane[i].kind,   lane[i].payload};
    EXPECT_TRUE(of_event == shown) << viz::detailWords(viz::spanDetails(*found));
    EXPECT_EQ(found->rank, event.rank);
    expectDetails(*found);
    expectLabel(lane[i], lane.bytes(i));
  }

  void expectUnderPoint() {
    const Each& of = any();
    const double point = anyTime(), tolerance = drawn(random_, 0, 3);
    const auto distance = [point](double begin, double end) {
      return std::max({0.0, begin - point, point - end});
    };
    double nearest = tolerance;
    std::int64_t shortest = -1;
    for (const auto& [event, at] : all_) {
      if (event.rank != of.first.rank || at.lane != of.second.lane) continue;
      const double far = distance(static_cast<double>(at.begin), static_cast<double>(at.end));
      const std::int64_t length = at.end - at.begin;
      if (far > nearest || (far == nearest && shortest >= 0 && length >= shortest)) continue;
      nearest = far;
      shortest = length;
    }
    const auto found = viz::spanAt(eventLane(of), point, tolerance);
    ASSERT_EQ(found.has_value(), shortest >= 0);
    if (!found) return;
    EXPECT_EQ(found->length(), shortest);
    EXPECT_EQ(distance(static_cast<double>(found->begin_ns), static_cast<double>(found->end_ns)),
              nearest);
  }

  void expectRange() {
    const double a = anyTime(), b = anyTime();
    const viz::TimeWindow range{std::min(a, b), std::max(a, b)};
    std::vector<WorldRank> ranks;
    for (int rank = 0; rank < trace_.worldSize(); ++rank)
      if (random_() % 4) ranks.push_back(WorldRank::of(rank));
    std::int64_t hops = 0;
    double bytes = 0;
    for (const auto& [event, at] : all_) {
      const auto begin = static_cast<double>(at.begin), end = static_cast<double>(at.end);
      const bool counts = (at.lane == 1 || at.lane == 2) && begin <= range.end_ns &&
                          end >= range.begin_ns && std::ranges::count(ranks, event.rank) > 0;
      if (!counts) continue;
      ++hops;
      const double within = std::min(end, range.end_ns) - std::max(begin, range.begin_ns);
      bytes += static_cast<double>(at.bytes) * (end > begin ? within / (end - begin) : 1);
    }
    const viz::RangeMeasure measure = viz::measureRange(*tracks_, ranks, range);
    EXPECT_EQ(measure.hops, hops) << range.begin_ns << " to " << range.end_ns;
    EXPECT_NEAR(static_cast<double>(measure.bytes), bytes, 1 + 1e-9 * bytes);
    expectRangeWords(viz::rangeWords(measure), range.length(), hops, bytes);
  }

  static void expectRangeWords(const std::string& says, double length, std::int64_t hops,
                               double bytes) {
    SCOPED_TRACE(says);
    static const std::regex kWords("(.*?) · ([\\d,]+) hop(s?)(?: · (.*?)(?: · (\\S*) GB/s)?)?");
    std::smatch words;
    ASSERT_TRUE(std::regex_match(says, words, kWords)) << "no oracle knows this sentence";
    EXPECT_TRUE(saysDuration(words[1], std::round(length)));
    EXPECT_TRUE(saysCount(words[2], hops));
    EXPECT_EQ(words[3].length() == 0, hops == 1);
    EXPECT_EQ(words[4].matched, hops > 0);
    EXPECT_EQ(words[5].matched, hops > 0 && length > 0);
    if (words[4].matched) {
      EXPECT_TRUE(saysBytes(words[4], std::round(bytes)));
    }
    if (words[5].matched) {
      EXPECT_TRUE(saysSignificant(words[5], std::round(bytes) / length, 3));
    }
  }

  /// A search that some event could answer, or that asks for a bit too much.
  struct Asked {
    std::string words;
    std::vector<std::function<bool(const Each&)>> wants;
    bool fits(const Each& each) const {
      return std::ranges::all_of(wants, [&](const auto& want) { return want(each); });
    }
  };
  Asked drawSearch() {
    const Each& of = any();
    Asked asked;
    const auto add = [&](const std::string& words, std::function<bool(const Each&)> want) {
      if (random_() % 2) return;
      asked.words += words + " ";
      asked.wants.push_back(std::move(want));
    };
    const Event& e = of.first;
    const std::int64_t length = of.second.end - of.second.begin + drawn(random_, -1, 1);
    add(traces::name(e.kind), [kind = e.kind](const Each& o) { return o.first.kind == kind; });
    if (e.source_rank.exists())
      add("kv " + toString(e.source_rank),
          [source = e.source_rank](const Each& o) { return o.first.source_rank == source; });
    add("rank " + toString(e.rank), [r = e.rank](const Each& o) { return o.first.rank == r; });
    add("step " + std::to_string(e.place.train_step),
        [s = e.place.train_step](const Each& o) { return o.first.place.train_step == s; });
    if (e.place.layer.exists())
      add("layer " + toString(e.place.layer),
          [l = e.place.layer](const Each& o) { return o.first.place.layer == l; });
    add(traces::name(e.place.direction),
        [d = e.place.direction](const Each& o) { return o.first.place.direction == d; });
    if (length >= 0)
      add("> " + std::to_string(length) + " ns",
          [length](const Each& o) { return o.second.end - o.second.begin > length; });
    return asked;
  }

  void expectFound() {
    const Asked asked = drawSearch();
    SCOPED_TRACE("search: " + asked.words);
    const auto query = viz::parseTrackQuery(asked.words);
    EXPECT_EQ(query.problem, "");
    const std::int64_t from = any().second.begin + drawn(random_, -1, 1);
    const bool back = random_() % 2;
    std::optional<std::int64_t> nearest;
    for (const Each& each : all_) {
      const std::int64_t begin = each.second.begin;
      if ((back ? begin >= from : begin <= from) || !asked.fits(each)) continue;
      if (!nearest || (back ? begin > *nearest : begin < *nearest)) nearest = begin;
    }
    std::vector<WorldRank> ranks;
    for (int rank = 0; rank < trace_.worldSize(); ++rank) ranks.push_back(WorldRank::of(rank));
    const auto found =
        viz::findSpan(trace_, *tracks_, ranks, query, static_cast<double>(from), back);
    ASSERT_EQ(found.has_value(), nearest.has_value());
    if (!found) return;
    EXPECT_EQ(found->span.begin_ns, *nearest);
    EXPECT_TRUE(std::ranges::any_of(all_, [&](const Each& each) {
      return each.first.rank == found->rank && each.second.begin == found->span.begin_ns &&
             each.second.end == found->span.end_ns && each.second.kind == found->span.kind &&
             asked.fits(each);
    })) << "that is none of those that were asked for";
  }

  /// All time of a lane is drawn, as bars or in pixels; a point may be drawn wider than it is.
  void expectPixels() {
    const Each& of = any();
    const viz::SpanTree& lane = eventLane(of);
    const viz::WindowScale scale{tracks_->all().withMargin(), 0, 1.0 * drawn(random_, 50, 900)};
    const double per_pixel = scale.perPixel();
    viz::LaneSample sample;
    viz::sampleLane(lane, scale, 3, sample);
    std::array<double, viz::kShades> drawn_ns{}, least{}, most{};
    std::size_t bars = 0;
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const auto length = static_cast<double>(lane[i].length());
      const bool bar = length >= 3 * per_pixel;
      EXPECT_EQ(std::ranges::count(sample.bars, i), bar) << "bar " << i;
      bars += bar;
      if (bar) continue;
      least[static_cast<std::size_t>(lane[i].shade)] += length;
      most[static_cast<std::size_t>(lane[i].shade)] += std::max(length, 0.3 * per_pixel);
    }
    EXPECT_EQ(sample.bars.size(), bars);
    for (const viz::ColumnMix& column : sample.columns)
      for (std::size_t k = 0; k < viz::kShades; ++k)
        drawn_ns[k] += static_cast<double>(column.share[k]) * per_pixel;
    for (std::size_t k = 0; k < viz::kShades; ++k) {
      EXPECT_GE(drawn_ns[k], least[k] * 0.999 - 0.01 * per_pixel) << "shade " << k;
      EXPECT_LE(drawn_ns[k], most[k] * 1.001 + 0.01 * per_pixel) << "shade " << k;
    }
  }

  const traces::Trace& trace_;
  std::mt19937& random_;
  std::shared_ptr<const viz::Tracks> tracks_;
  PlainAxis axis_;
  std::vector<Each> all_;
};

}  // namespace

void expectSpans(const traces::Trace& trace, std::mt19937& random) {
  Lanes(trace, random).expect();
}

}  // namespace ringscope::facts
