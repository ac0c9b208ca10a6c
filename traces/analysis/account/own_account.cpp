// SPDX-License-Identifier: Apache-2.0
// The account of a training step by the own-device clock.
#include <algorithm>
#include <map>

#include "traces/analysis/account/own_clock.h"
#include "traces/analysis/account/time_claims.h"
#include "traces/analysis/clock/prediction.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {

namespace {

/// As `ringscope predict` has it: who is in a collective waits.
Claim modelClaim(const Event& event) {
  return event.kind == EventKind::kCollective ? Claim::kWait : eventClaim(event);
}

Exposure exposureOf(const CommunicationSum& sum) {
  return {sum.exposed_ns, sum.hidden_ns, sum.bytes, sum.late_ns};
}

RankAccount accountOf(const OwnClock& clock, WorldRank rank) {
  RankAccount account;
  account.rank = rank;
  if (rank.index() >= clock.events.size()) return account;
  const std::vector<Event>& events = clock.events[rank.index()];
  ClaimSweep(events, modelClaim).run([&](std::int64_t begin, std::int64_t end, Claim claim) {
    account.used_ns[static_cast<std::size_t>(*claimedUse(claim))] += end - begin;
    account.step_ns += end - begin;
  });
  account.exposure = exposureOf(clock.timeline.sum(rank));
  account.hops = std::ranges::count_if(events, [](const Event& event) {
    return event.kind == EventKind::kSend &&
           (event.payload == Payload::kKv || event.payload == Payload::kDkv);
  });
  return account;
}

std::vector<LayerAccount> layersOf(const OwnClock& clock, const std::vector<WorldRank>& ranks) {
  std::map<Place, CommunicationSum, PassBefore> sums;
  for (const WaitCost& wait : clock.timeline.waits) {
    if (std::ranges::find(ranks, wait.rank) == ranks.end()) continue;
    Place pass = wait.place;
    pass.stage = RingStep::none();
    sums[pass].add(wait);
  }
  std::vector<LayerAccount> layers;
  layers.reserve(sums.size());
  for (const auto& [place, sum] : sums)
    layers.push_back({place.layer, place.direction, exposureOf(sum)});
  return layers;
}

std::string floorWords(double floor_us) {
  return floor_us > 0 ? describeFigure(floor_us) + " µs" : std::string("none");
}

std::string meanOf(std::int64_t sum, std::size_t ranks) {
  return describeDuration(sum / static_cast<std::int64_t>(std::max<std::size_t>(1, ranks)));
}

std::string toSentence(const OwnClock& clock, const StepAccount& account) {
  const Exposure sum = account.exposure();
  std::string words = "Model: on " + describe(clock.hardware) + " this step takes " +
                      describeDuration(clock.timeline.endNs());
  if (clock.recorded->own_cores)
    words += " (recorded " + describeDuration(clock.recorded->recorded_ns) + ")";
  words += "; on average a rank stands still for " + meanOf(sum.exposed_ns, account.ranks.size()) +
           " of it";
  if (sum.late_ns > 0)
    words += ", " + meanOf(sum.late_ns, account.ranks.size()) + " of that for late peers";
  if (sum.hiddenShare()) words += "; " + hiddenWords(sum);
  return words + "; " + limitVerdict(*account.limits) + ".";
}

/// The floors, the device and its efficiency, and what of the critical path they determine.
AccountSection limitsSection(const OwnClock& clock, const StepLimits& limits) {
  AccountSection section{"WHAT DETERMINES THE STEP BY THE MODEL", {}, {}};
  for (const Limit limit : longestFirst(limits))
    section.rows.emplace_back(limitWords(limit), describeDuration(limits.of(limit)) + " · " +
                                                     describeShare(limits.share(limit)));
  if (limits.link_fixed_ns > 0)
    section.rows.emplace_back("of the link: latency, floors",
                              describeDuration(limits.link_fixed_ns) + " · " +
                                  describeShare(static_cast<double>(limits.link_fixed_ns) /
                                                static_cast<double>(limits.total())));
  const Hardware& hardware = clock.hardware;
  if (hardware.device)
    section.rows.emplace_back(
        hardware.device->name,
        "at " + describeFigure(100 * hardware.device->efficiency) + " % of its peak");
  section.rows.emplace_back("least time of a kernel", floorWords(hardware.floors.kernel_us));
  section.rows.emplace_back("least time of a transfer", floorWords(hardware.floors.collective_us));
  return section;
}

std::string caveatOf(const Hardware& hardware) {
  std::string words =
      "Model, not a measurement: each stage takes the CPU or device time that was recorded for it";
  if (hardware.compute_scale != 1) words += " ÷ " + describeFigure(hardware.compute_scale);
  if (hardware.floors.kernel_us > 0) words += ", but at least the least time of its kernels";
  words += "; each message takes its bytes over this link";
  if (hardware.floors.collective_us > 0) words += ", but at least the least time of a transfer";
  words += ".";
  if (hardware.device)
    words += " The speed of " + hardware.device->name +
             " is that of attention; other stages are taken to be as many times quicker.";
  return words;
}

/// Both lengths of the step; on shared cores the recorded one is the scheduler's as well.
AccountSection againstRecorded(const OwnClock& clock) {
  return {"RECORDED AGAINST MODEL",
          {{clock.recorded->own_cores ? "recorded, a core for each rank" : "recorded, shared cores",
            describeDuration(clock.recorded->recorded_ns)},
           {"model, own devices", describeDuration(clock.timeline.endNs())}},
          {}};
}

}  // namespace

StepAccount makeStepAccount(const OwnClock& clock, const std::vector<WorldRank>& ranks) {
  StepAccount account;
  account.train_step = clock.train_step;
  account.model = true;
  for (const WorldRank rank : ranks) {
    account.ranks.push_back(accountOf(clock, rank));
    account.timed |= account.ranks.back().step_ns > 0;
  }
  account.layers = layersOf(clock, ranks);
  account.limits = stepLimits(clock.recorded->program, clock.hardware, clock.timeline);
  account.sentence = toSentence(clock, account);
  account.sections.push_back(againstRecorded(clock));
  account.sections.push_back(limitsSection(clock, *account.limits));
  account.caveat = caveatOf(clock.hardware);
  for (const std::string& note : clock.recorded->notes)
    account.caveat += " Also assumed: " + note + ".";
  return account;
}

}  // namespace ringscope::traces
