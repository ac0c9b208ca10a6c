// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/account/step_account.h"

#include <algorithm>
#include <map>

#include "traces/analysis/account/stretches.h"
#include "traces/analysis/account/time_claims.h"
#include "traces/analysis/clock/timeline.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/shared_cores.h"
#include "traces/format/trace/steps.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

namespace {

bool isCommunication(const Event& event) {
  return event.kind == EventKind::kSend || event.kind == EventKind::kReceive ||
         event.kind == EventKind::kCollective;
}

/// Messages, collectives and waits of one direction of one layer, of one rank.
struct LayerTimes {
  Stretches under_way, waits, collectives;
  std::int64_t bytes = 0;
};

using ByLayer = std::map<Place, LayerTimes, PassBefore>;

class RankReader {
 public:
  RankReader(WorldRank rank, const std::vector<Event>& events) {
    account_.rank = rank;
    for (const Event& event : events) take(event);
    ClaimSweep(events).run([&](std::int64_t begin, std::int64_t end, Claim claim) {
      const std::optional<TimeUse> use = claimedUse(claim);
      if (!use) return paused_.push_back({begin, end});
      account_.used_ns[static_cast<std::size_t>(*use)] += end - begin;
      account_.step_ns += end - begin;
      if (*use == TimeUse::kExposed) exposed_.push_back({begin, end});
    });
    paused_ = joined(std::move(paused_));
    exposed_ = joined(std::move(exposed_));
  }

  RankAccount account() {
    Stretches all;
    for (const auto& [place, times] : layers_)
      all.insert(all.end(), times.under_way.begin(), times.under_way.end());
    under_way_ = without(joined(std::move(all)), paused_);
    account_.exposure.exposed_ns = account_.used(TimeUse::kExposed);
    account_.exposure.late_ns = totalLength(without(exposed_, under_way_));
    account_.exposure.hidden_ns = totalLength(without(under_way_, exposed_));
    return account_;
  }
  /// Adds the times of the rank to the layers, after account(). A moment counts for the pass that
  /// waits, or else for the pass of the collective that blocks. While the rank works, a moment
  /// counts for the first pass that has something in flight.
  void addTo(std::map<Place, Exposure, PassBefore>& layers) const {
    Stretches exposed = exposed_, hidden = without(under_way_, exposed_);
    const auto expose = [&](const Place& place, const Stretches& by) {
      const Stretches part = within(exposed, joined(by));
      layers[place] += Exposure{totalLength(part), 0, 0, totalLength(without(part, under_way_))};
      exposed = without(exposed, part);
    };
    for (const auto& [place, times] : layers_) expose(place, times.waits);
    for (const auto& [place, times] : layers_) {
      expose(place, times.collectives);
      const Stretches part = within(hidden, joined(times.under_way));
      layers[place] += Exposure{0, totalLength(part), times.bytes};
      hidden = without(hidden, part);
    }
  }

 private:
  void take(const Event& event) {
    const Claim claim = eventClaim(event);
    // The wall time of work on a device is not the time of the thread that requested the work.
    const bool by_thread = event.clock == Clock::kHost && event.cpu_ns > 0;
    if (by_thread && (claim == Claim::kAttention || claim == Claim::kCompute)) {
      account_.cpu_ns += event.cpu_ns;
      account_.wall_ns += event.duration();
    }
    if (!isCommunication(event) && claim != Claim::kWait) return;
    Place pass = event.place;
    pass.stage = RingStep::none();
    LayerTimes& times = layers_[pass];
    const TimeFold stretch{event.begin_ns, std::max(event.begin_ns, event.end_ns)};
    if (claim == Claim::kWait) return times.waits.push_back(stretch);
    times.under_way.push_back(stretch);
    if (event.kind == EventKind::kCollective) times.collectives.push_back(stretch);
    if (event.kind == EventKind::kReceive) return;
    times.bytes += event.bytes;
    account_.exposure.bytes += event.bytes;
    if (event.kind == EventKind::kSend &&
        (event.payload == Payload::kKv || event.payload == Payload::kDkv))
      ++account_.hops;
  }
  RankAccount account_;
  ByLayer layers_;
  Stretches exposed_, paused_, under_way_;
};

struct ExposedPlace {
  std::string words;
  std::int64_t exposed_ns = 0;
};

/// Each direction of each layer, and all that is outside the layers, as the table has it.
std::vector<ExposedPlace> exposedPlaces(const StepAccount& account) {
  std::vector<ExposedPlace> places;
  ExposedPlace outside{"outside the layers"};
  for (const LayerAccount& layer : account.layers)
    if (layer.layer.isNone())
      outside.exposed_ns += layer.exposure.exposed_ns;
    else
      places.push_back({"in layer " + toString(layer.layer) + " " + name(layer.direction),
                        layer.exposure.exposed_ns});
  places.push_back(outside);
  return places;
}

std::string toSentence(const StepAccount& account) {
  const Exposure sum = account.exposure();
  const std::int64_t step = account.stepNs();
  if (account.layers.empty()) return "No message is recorded in this training step.";
  if (sum.underWayNs() == 0 && sum.exposed_ns == 0)
    return "No message or wait of this training step has a length outside of pauses.";
  std::string words = hiddenWords(sum);
  if (step > 0)
    words += "; " + describeShare(static_cast<double>(sum.exposed_ns) / static_cast<double>(step)) +
             " of the ranks' time is exposed";
  const auto places = exposedPlaces(account);
  const auto worst = std::ranges::max_element(places, {}, &ExposedPlace::exposed_ns);
  if (worst == places.end() || worst->exposed_ns == 0) return words + ".";
  const auto alike = std::ranges::count(places, worst->exposed_ns, &ExposedPlace::exposed_ns);
  const bool most = 2 * worst->exposed_ns > sum.exposed_ns;
  words += alike > 1 ? ", as much in each of " + std::to_string(alike) + " places"
                     : (most ? ", most of it " : ", the largest part ") + worst->words;
  return words + " (" + describeDuration(worst->exposed_ns) + " of all ranks).";
}

}  // namespace

const char* title(TimeUse use) {
  constexpr const char* kTitles[] = {"attention",  "other compute", "exposed",
                                     "sync, step", "verification",  "between"};
  return kTitles[static_cast<std::size_t>(use)];
}

std::optional<double> Exposure::hiddenShare() const {
  return traces::hiddenShare(hidden_ns, underWayNs());
}

std::string hiddenWords(const Exposure& exposure) {
  const auto share = exposure.hiddenShare();
  return share ? describeShare(*share) + " of the time that communication is in flight is hidden"
               : std::string("no communication is in flight");
}

Exposure& Exposure::operator+=(const Exposure& other) {
  exposed_ns += other.exposed_ns;
  hidden_ns += other.hidden_ns;
  bytes += other.bytes;
  late_ns += other.late_ns;
  return *this;
}

Exposure StepAccount::exposure() const {
  Exposure sum;
  for (const RankAccount& rank : ranks) sum += rank.exposure;
  return sum;
}

std::int64_t StepAccount::used(TimeUse use) const {
  std::int64_t sum = 0;
  for (const RankAccount& rank : ranks) sum += rank.used(use);
  return sum;
}

std::int64_t StepAccount::stepNs() const {
  std::int64_t sum = 0;
  for (const RankAccount& rank : ranks) sum += rank.step_ns;
  return sum;
}

StepAccount makeStepAccount(const Trace& trace, std::int32_t train_step,
                            const std::vector<WorldRank>& ranks) {
  StepAccount account;
  account.train_step = train_step;
  if (importedFrom(trace)) {
    account.sentence =
        "What hides communication is not known: these files tell little or nothing of the ranks' "
        "other work.";
    return account;
  }
  std::map<Place, Exposure, PassBefore> layers;
  for (const WorldRank rank : ranks) {
    const auto events =
        trace.eventsAt(firstPlaceIn(account.train_step), lastPlaceIn(account.train_step), rank);
    RankReader reader(rank, events);
    account.ranks.push_back(reader.account());
    reader.addTo(layers);
    account.timed |= account.ranks.back().step_ns > 0;
  }
  for (const auto& [place, exposure] : layers)
    account.layers.push_back({place.layer, place.direction, exposure});
  account.shared_cores = sharesCores(trace);
  if (!account.timed) {
    account.sentence =
        "Nothing that these ranks did in this training step has a length: where its time goes is "
        "not recorded.";
    return account;
  }
  account.sentence = toSentence(account);
  account.caveat = sharedCoresCaveat(trace);
  return account;
}

}  // namespace ringscope::traces
