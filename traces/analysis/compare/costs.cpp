// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/costs.h"

#include <algorithm>

#include "traces/analysis/clock/recorded_rank.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/work.h"
#include "traces/format/trace/step_log.h"
#include "traces/format/trace/steps.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

void addLogged(const Trace& trace, CostsByPlace& all) {
  for (const auto& [step, logged] : loggedSteps(trace)) {
    Costs& costs = all[firstPlaceIn(step)];
    costs[Cost::kLoss] = logged.loss;
    costs[Cost::kGradNorm] = logged.grad_norm;
    costs[Cost::kPeak] = logged.peak_bytes;
    costs[Cost::kSeconds] = logged.seconds;
  }
}

/// Adds the planned pairs and balance of forward, unless a rank's plan is unknown.
void addPlanned(const Trace& trace, CostsByPlace& all) {
  for (auto& [place, costs] : all) {
    if (place.layer.exists()) continue;
    std::vector<double> work;
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      if (const auto* schedule =
              trace.schedule(place.train_step, WorldRank::of(rank), Direction::kForward))
        work.push_back(pairsPerHead(*schedule));
    if (work.empty() || std::ssize(work) != trace.worldSize()) continue;
    costs[Cost::kPairs] = *std::ranges::max_element(work);
    costs[Cost::kBalance] = balanceFrom(work);
  }
}

void add(std::optional<double>& sum, double more) {
  sum = sum.value_or(0) + more;
}

/// Adds an event. A place with any event has a number of sent bytes, which may be 0.
void take(const Event& event, Costs& costs) {
  const bool collective = event.kind == EventKind::kCollective;
  add(costs[Cost::kSent], event.kind == EventKind::kSend ? static_cast<double>(event.bytes) : 0.0);
  add(costs[Cost::kCollectives], collective ? static_cast<double>(event.bytes) : 0.0);
  if (event.kind == EventKind::kWait)
    add(costs[Cost::kWait], static_cast<double>(event.duration()));
  if (event.kind == EventKind::kAttend && ownTimeNs(event) > 0)
    add(costs[Cost::kAttend], static_cast<double>(ownTimeNs(event)));
}

/// A consumer of events. Events of one place are consecutive, so the costs that they add to are
/// looked up once.
class EventTaker {
 public:
  explicit EventTaker(CostsByPlace& all) : all_(all) {}
  void operator()(const Event& event) {
    Place place = event.place;
    place.stage = RingStep::none();
    if (!step_ || place_ != place) {
      step_ = &all_[firstPlaceIn(place.train_step)];
      pass_ = place.layer.exists() ? &all_[place] : nullptr;
      place_ = place;
    }
    take(event, *step_);
    if (pass_) take(event, *pass_);
  }

 private:
  CostsByPlace& all_;
  Place place_;
  Costs *step_ = nullptr, *pass_ = nullptr;
};

}  // namespace

const char* title(Cost cost) {
  static constexpr std::array<const char*, kValueCount<Cost>> kTitles = {
      "loss",
      "gradient norm",
      "pairs per head, busiest rank",
      "balance",
      "peak memory, largest rank",
      "the step took",
      "sent by ranks",
      "collectives",
      "attention, own time",
      "waits"};
  return kTitles[static_cast<std::size_t>(cost)];
}

std::string describe(Cost cost, double value) {
  switch (cost) {
    case Cost::kLoss:
    case Cost::kGradNorm:
      return describeSignificant(value, 7);
    case Cost::kPairs:
      return describeCount(static_cast<std::int64_t>(value));
    case Cost::kBalance:
      return describeShare(value);
    case Cost::kSeconds:
      return describeSeconds(value);
    case Cost::kAttend:
    case Cost::kWait:
      return describeDuration(static_cast<std::int64_t>(value));
    default:
      return describeBytes(static_cast<std::int64_t>(value));
  }
}

CostsByPlace costsByPlace(const Trace& trace, const GoOn& go_on) {
  constexpr std::size_t kBetween = 16'384;  // events between two calls of go_on
  CostsByPlace all;
  addLogged(trace, all);
  const auto events = static_cast<double>(trace.eventCount());
  std::size_t taken = 0;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    EventTaker taker(all);
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      if (taken++ % kBetween == 0 && !goesOn(go_on, static_cast<double>(taken) / events))
        return all;
      taker(event);
    }
  }
  addPlanned(trace, all);
  return all;
}

}  // namespace ringscope::traces
