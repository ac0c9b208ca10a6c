// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/drawing.h"
#include "tests/facts/timeline_facts.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::EventKind;

class EventDraw {
 public:
  EventDraw(std::mt19937& random, int ranks, int steps)
      : random_(random),
        ranks_(ranks),
        steps_(steps),
        longest_(pickOne<int>(random, {3, 40, 900})) {}

  Event any(int rank) {
    Event e;
    e.rank = traces::WorldRank::of(rank);
    e.kind = static_cast<EventKind>(random_() % static_cast<unsigned>(EventKind::kCount));
    const int step = drawn(random_, 0, steps_ - 1);
    e.place = {step, traces::Layer::of(drawn(random_, -1, 2)),
               static_cast<traces::Direction>(random_() % 2),
               traces::RingStep::of(drawn(random_, -1, 2))};
    // Steps overlap a bit, as those of ranks do.
    e.begin_ns = 1000 * step + drawn(random_, 0, 1100);
    e.end_ns = e.begin_ns + drawn(random_, 0, longest_);
    e.start_ns = random_() % 2
                     ? e.begin_ns
                     : drawn(random_, static_cast<int>(e.begin_ns), static_cast<int>(e.end_ns));
    e.payload = static_cast<traces::Payload>(random_() % 7);
    e.bytes = random_() % 3 ? drawn(random_, 0, 5000) : 0;
    e.cpu_ns = random_() % 3 ? drawn(random_, 0, longest_) : 0;
    e.peer = traces::WorldRank::of(drawn(random_, -1, ranks_ - 1));
    e.source_rank = traces::WorldRank::of(drawn(random_, -1, ranks_ - 1));
    e.q_end = drawn(random_, 0, 9);
    e.k_end = drawn(random_, 0, 9);
    e.mask = static_cast<traces::PieceMask>(random_() % 4);
    e.pass = random_() % 8 ? traces::Pass::kForward : traces::Pass::kRecompute;
    e.microbatch = random_() % 8 ? 0 : 1;
    e.clock = static_cast<traces::Clock>(random_() % 8 == 0);
    e.queue = e.clock == traces::Clock::kDevice;
    return e;
  }

 private:
  std::mt19937& random_;
  int ranks_, steps_, longest_;
};

}  // namespace

void drawEvents(AnyEvents& all, std::mt19937& random) {
  all.ranks = drawn(random, 1, 5);
  all.steps = drawn(random, 1, 3);
  EventDraw draw(random, all.ranks, all.steps);
  const int events = pickOne<int>(random, {1, 6, 40, 300});
  // All may be held at once, some of them for longer.
  const int held = drawn(random, 0, 2), at = drawn(random, 0, 2000);
  for (int rank = 0; rank < all.ranks; ++rank) {
    std::vector<Event> of_rank;
    for (int i = 0; i < events; ++i) {
      Event& next = of_rank.emplace_back(draw.any(rank));
      if (i == 0 || drawn(random, 0, 3) > 0) continue;
      // The same at the same time to another rank, as when one posts to all.
      Event to_other = of_rank[of_rank.size() - 2];
      to_other.peer = next.peer;
      to_other.bytes = next.bytes;
      next = to_other;
    }
    for (int i = 0; i < held; ++i) {
      Event& pause = of_rank.emplace_back(draw.any(rank));
      pause.kind = EventKind::kPause;
      pause.begin_ns = pause.start_ns = at + 700 * i - drawn(random, 0, 1) * drawn(random, 0, 9);
      pause.begin_ns = pause.start_ns = std::max<std::int64_t>(0, pause.begin_ns);
      pause.end_ns = at + 700 * i + 100 + drawn(random, 0, 1) * drawn(random, 0, 50);
      Event& after = of_rank.emplace_back(draw.any(rank));
      after.begin_ns = after.start_ns = pause.end_ns;
      after.end_ns = after.begin_ns + drawn(random, 0, 30);
    }
    std::ranges::stable_sort(of_rank, {}, &Event::end_ns);
    all.trace.add(of_rank);
  }
}

}  // namespace ringscope::facts
