// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/rank_events.h"

#include <algorithm>
#include <numeric>

#include "traces/format/trace/event_store.h"

namespace ringscope::traces {
namespace {

struct ByPlace {
  const std::vector<Event>& events;
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    return before(events[a].place, events[b].place);
  }
};

}  // namespace

const std::vector<std::uint32_t>& RunEvents::byPlace() const {
  const MutexLock lock(mutex_);
  const std::size_t first = by_place_.size();
  if (first == events.size()) return by_place_;
  by_place_.resize(events.size());
  const auto middle = by_place_.begin() + static_cast<std::ptrdiff_t>(first);
  std::iota(middle, by_place_.end(), static_cast<std::uint32_t>(first));
  const ByPlace by{events};
  if (!std::is_sorted(middle, by_place_.end(), by)) std::stable_sort(middle, by_place_.end(), by);
  // New events are nearly always at later places.
  if (first > 0 && by(*middle, *std::prev(middle)))
    std::inplace_merge(by_place_.begin(), middle, by_place_.end(), by);
  return by_place_;
}

void RunEvents::copyTo(std::vector<Event>& out, const Place& first, const Place& last) const {
  const auto& by_place = byPlace();
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

bool EventRun::mayHold(const Place& first, const Place& last) const {
  if (own) return true;
  const auto at =
      std::lower_bound(holds.places.begin(), holds.places.end(), first,
                       [](const PlaceCount& a, const Place& b) { return before(a.place, b); });
  return at != holds.places.end() && !before(last, at->place);
}

bool EventRun::mayTouch(std::int64_t begin_ns, std::int64_t end_ns) const {
  return own || holds.pending > 0 || (holds.begin_ns < end_ns && holds.end_ns >= begin_ns);
}

void RankEvents::Iterator::skipEmpty() {
  held_ = nullptr;
  for (; run_ < all_->runs_; ++run_) {
    held_ = all_->store_->goThrough(*all_->passed_, run_);
    if (!held_->events.empty()) return;
  }
}

const Event& RankEvents::operator[](std::size_t index) const& {
  for (std::size_t run = 0;; ++run) {
    const auto held = store_->goThrough(*passed_, run);
    if (index < held->events.size()) return held->events[index];
    index -= held->events.size();
  }
}

}  // namespace ringscope::traces
