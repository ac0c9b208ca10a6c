// SPDX-License-Identifier: Apache-2.0
#include "traces/query/rank_events.h"

#include <algorithm>
#include <numeric>

namespace ringscope::traces {
namespace {

struct ByPlace {
  const std::vector<Event>& events;
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    return before(events[a].place, events[b].place);
  }
};

}  // namespace

void EventRun::index(std::size_t first) {
  by_place.resize(events.size());
  const auto middle = by_place.begin() + static_cast<std::ptrdiff_t>(first);
  std::iota(middle, by_place.end(), static_cast<std::uint32_t>(first));
  const ByPlace by{events};
  if (!std::is_sorted(middle, by_place.end(), by)) std::stable_sort(middle, by_place.end(), by);
  // Nearly always new events are of later places.
  if (first > 0 && middle != by_place.end() && by(*middle, *std::prev(middle)))
    std::inplace_merge(by_place.begin(), middle, by_place.end(), by);
}

bool EventRun::mayHold(const Place& first, const Place& last) const {
  if (decoded) return true;
  const auto at =
      std::lower_bound(claimed.places.begin(), claimed.places.end(), first,
                       [](const PlaceCount& a, const Place& b) { return before(a.place, b); });
  return at != claimed.places.end() && !before(last, at->place);
}

bool EventRun::mayTouch(std::int64_t begin_ns, std::int64_t end_ns) const {
  return decoded || claimed.pending > 0 ||
         (claimed.begin_ns < end_ns && claimed.end_ns >= begin_ns);
}

void EventRun::copyTo(std::vector<Event>& out, const Place& first, const Place& last) const {
  const auto begin =
      std::lower_bound(by_place.begin(), by_place.end(), first,
                       [&](std::uint32_t i, const Place& p) { return before(events[i].place, p); });
  const auto end =
      std::upper_bound(begin, by_place.end(), last,
                       [&](const Place& p, std::uint32_t i) { return before(p, events[i].place); });
  std::vector<std::uint32_t> found(begin, end);
  if (!(first == last)) std::sort(found.begin(), found.end());
  const std::size_t had = out.size();
  out.resize(had + found.size());
  for (std::size_t i = 0; i < found.size(); ++i) out[had + i] = events[found[i]];
}

const Event& RankEvents::operator[](std::size_t index) const {
  std::size_t run = 0;
  while (index >= runs_[run].events.size()) index -= runs_[run++].events.size();
  return runs_[run].events[index];
}

}  // namespace ringscope::traces
