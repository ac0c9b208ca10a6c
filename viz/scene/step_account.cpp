// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/step_account.h"

#include <algorithm>
#include <map>

#include "traces/query/imported.h"
#include "traces/query/shared_cores.h"
#include "traces/query/steps.h"
#include "traces/query/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/run_words.h"
#include "viz/scene/stretches.h"
#include "viz/scene/tracks.h"
#include "viz/scene/units.h"

namespace ringscope::viz {

using traces::Event;
using traces::EventKind;
using traces::Payload;

namespace {

/// What a moment of a rank counts for, first to last, where several are recorded at once.
enum class Claim : std::uint8_t {
  kPause,
  kWait,
  kAttention,
  kCompute,
  kSync,
  kVerify,
  kBlocked,
  kCount
};
constexpr std::size_t kClaims = static_cast<std::size_t>(Claim::kCount);

Claim claimOf(const Event& event) {
  switch (shadeOf(event)) {
    case Shade::kPause:
      return Claim::kPause;
    case Shade::kWait:
      return Claim::kWait;
    case Shade::kAttend:
    case Shade::kMerge:
      return Claim::kAttention;
    case Shade::kSync:
      return Claim::kSync;
    case Shade::kVerify:
      return Claim::kVerify;
    case Shade::kMessage:
      return event.kind == EventKind::kCollective ? Claim::kBlocked : Claim::kCount;
    default:
      return Claim::kCompute;
  }
}

/// Nothing: it is left out.
bool countsAs(Claim claim, TimeUse& use) {
  switch (claim) {
    case Claim::kPause:
      return false;
    case Claim::kWait:
    case Claim::kBlocked:
      use = TimeUse::kExposed;
      return true;
    case Claim::kAttention:
      use = TimeUse::kAttention;
      return true;
    case Claim::kCompute:
      use = TimeUse::kCompute;
      return true;
    case Claim::kSync:
      use = TimeUse::kSync;
      return true;
    case Claim::kVerify:
      use = TimeUse::kVerify;
      return true;
    default:
      use = TimeUse::kBetween;
      return true;
  }
}

/// Goes along a rank's step from border to border, and says who claims what lies between.
class Sweep {
 public:
  explicit Sweep(const std::vector<Event>& events) {
    for (const Event& event : events) {
      const Claim claim = claimOf(event);
      if (claim == Claim::kCount || event.end_ns <= event.begin_ns) continue;
      edges_.push_back({event.begin_ns, claim, 1});
      edges_.push_back({event.end_ns, claim, -1});
    }
    std::ranges::sort(edges_, {}, &Edge::ns);
  }
  /// `take(begin, end, claim)`; kCount: nobody does.
  template <typename Take>
  void run(Take take) const {
    std::array<int, kClaims> open{};
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      open[static_cast<std::size_t>(edges_[i].claim)] += edges_[i].change;
      if (i + 1 == edges_.size() || edges_[i + 1].ns == edges_[i].ns) continue;
      const auto first = std::ranges::find_if(open, [](int count) { return count > 0; });
      take(edges_[i].ns, edges_[i + 1].ns, static_cast<Claim>(first - open.begin()));
    }
  }

 private:
  struct Edge {
    std::int64_t ns;
    Claim claim;
    int change;
  };
  std::vector<Edge> edges_;
};

bool isCommunication(const Event& event) {
  return event.kind == EventKind::kSend || event.kind == EventKind::kReceive ||
         event.kind == EventKind::kCollective;
}

/// Messages and waits of one direction of one layer, of one rank.
struct LayerTimes {
  Stretches under_way, waits;
  std::int64_t bytes = 0;
};

struct PassBefore {
  bool operator()(const Place& a, const Place& b) const { return traces::before(a, b); }
};
using ByLayer = std::map<Place, LayerTimes, PassBefore>;

class RankReader {
 public:
  RankReader(WorldRank rank, const std::vector<Event>& events) {
    account_.rank = rank;
    for (const Event& event : events) take(event);
    Sweep(events).run([&](std::int64_t begin, std::int64_t end, Claim claim) {
      TimeUse use = TimeUse::kBetween;
      const bool counts = countsAs(claim, use);
      if (!counts) paused_.push_back({begin, end});
      if (!counts) return;
      account_.used_ns[static_cast<std::size_t>(use)] += end - begin;
      account_.step_ns += end - begin;
      if (use == TimeUse::kExposed) exposed_.push_back({begin, end});
    });
    paused_ = joined(std::move(paused_));
    exposed_ = joined(std::move(exposed_));
  }

  RankAccount account() {
    Stretches all;
    for (const auto& [place, times] : layers_)
      all.insert(all.end(), times.under_way.begin(), times.under_way.end());
    account_.exposure.exposed_ns = account_.used(TimeUse::kExposed);
    account_.exposure.hidden_ns = hidden(joined(std::move(all)));
    return account_;
  }
  void addTo(std::map<Place, Exposure, PassBefore>& layers) const {
    for (const auto& [place, times] : layers_) {
      // A collective is exposed where the rank has nothing else to do.
      const Stretches under_way = joined(times.under_way), waits = joined(times.waits);
      const std::int64_t waited = lengthOf(waits) - common(waits, paused_);
      const std::int64_t blocked = common(under_way, exposed_);
      layers[place] += Exposure{std::max(waited, blocked), hidden(under_way), times.bytes};
    }
  }

 private:
  void take(const Event& event) {
    const Claim claim = claimOf(event);
    if (event.cpu_ns > 0 && (claim == Claim::kAttention || claim == Claim::kCompute)) {
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
    if (event.kind == EventKind::kReceive) return;
    times.bytes += event.bytes;
    account_.exposure.bytes += event.bytes;
    if (event.kind == EventKind::kSend &&
        (event.payload == Payload::kKv || event.payload == Payload::kDkv))
      ++account_.hops;
  }
  /// Under way while the rank does something else.
  std::int64_t hidden(const Stretches& under_way) const {
    return lengthOf(under_way) - common(under_way, exposed_) - common(under_way, paused_);
  }

  RankAccount account_;
  ByLayer layers_;
  Stretches exposed_, paused_;
};

std::string sentenceOf(const StepAccount& account) {
  const Exposure sum = account.exposure();
  const std::int64_t step = account.stepNs();
  if (account.layers.empty()) return "No message is recorded in this training step.";
  if (sum.underWayNs() == 0)
    return "No message or wait of this training step has a length outside of pauses.";
  const auto share = [&](std::int64_t part, std::int64_t whole) {
    return traces::describeShare(static_cast<double>(part) / static_cast<double>(whole));
  };
  std::string words = share(sum.hidden_ns, sum.underWayNs()) + " of the communication is hidden";
  if (step > 0) words += "; " + share(sum.exposed_ns, step) + " of the ranks' time is exposed";
  const LayerAccount* worst = nullptr;
  for (const LayerAccount& layer : account.layers)
    if (!worst || layer.exposure.exposed_ns > worst->exposure.exposed_ns) worst = &layer;
  if (!worst || worst->exposure.exposed_ns == 0) return words + ".";
  const bool most = 2 * worst->exposure.exposed_ns > sum.exposed_ns;
  return words + (most ? ", most of it " : ", the largest part ") +
         (worst->layer.isNone()
              ? std::string("outside the layers")
              : "in layer " + toString(worst->layer) + " " + name(worst->direction)) +
         " (" + describeDuration(worst->exposure.exposed_ns) + " of all ranks).";
}

}  // namespace

const char* title(TimeUse use) {
  constexpr const char* kTitles[] = {"attention",  "other compute", "exposed",
                                     "sync, step", "verification",  "between"};
  return kTitles[static_cast<std::size_t>(use)];
}

Exposure& Exposure::operator+=(const Exposure& other) {
  exposed_ns += other.exposed_ns;
  hidden_ns += other.hidden_ns;
  bytes += other.bytes;
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

StepAccount makeStepAccount(const traces::Trace& trace, const Cursor& cursor) {
  StepAccount account;
  account.train_step = cursor.place.train_step;
  if (traces::importedFrom(trace)) {
    account.sentence =
        "What hides communication is not known: these files tell little or nothing of the ranks' "
        "other work.";
    return account;
  }
  std::map<Place, Exposure, PassBefore> layers;
  for (const WorldRank rank : ranksOf(trace, cursor.group)) {
    const auto events = trace.eventsAt(traces::firstPlaceOf(account.train_step),
                                       traces::lastPlaceOf(account.train_step), rank);
    RankReader reader(rank, events);
    account.ranks.push_back(reader.account());
    reader.addTo(layers);
    account.timed |= account.ranks.back().step_ns > 0;
  }
  for (const auto& [place, exposure] : layers)
    account.layers.push_back({place.layer, place.direction, exposure});
  account.shared_cores = traces::sharesCores(trace);
  if (!account.timed) {
    account.sentence =
        "Nothing that these ranks did in this training step has a length: where its time goes is "
        "not recorded.";
    return account;
  }
  account.sentence = sentenceOf(account);
  account.caveat = traces::sharedCoresCaveat(trace);
  return account;
}

}  // namespace ringscope::viz
