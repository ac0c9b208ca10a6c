// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "traces/analysis/clock/report.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Returns the communication by layer and direction, means of the ranks.
nlohmann::json layersJson(const RecordedAnswer& answer) {
  std::map<std::pair<Layer::Value, Direction>, CommunicationSum> sums;
  for (const WaitCost& cost : answer.timeline.waits)
    if (cost.place.layer.exists()) sums[{cost.place.layer.value(), cost.place.direction}].add(cost);
  nlohmann::json layers = nlohmann::json::array();
  const auto ranks = static_cast<int>(answer.recorded.program.ranks.size());
  for (const auto& [place, sum] : sums) {
    nlohmann::json row = toJson(sum, ranks);
    row["layer"] = place.first;
    row["direction"] = name(place.second);
    layers.push_back(row);
  }
  return layers;
}

nlohmann::json pathJson(const RecordedAnswer& answer) {
  nlohmann::json path = nlohmann::json::array();
  for (const CriticalPart& part : answer.timeline.critical_path) {
    const bool named = part.event != Program::kNone;
    const Program::Happening* event =
        named ? &answer.recorded.program.ranks[part.rank.index()].events[part.event] : nullptr;
    path.push_back({{"rank", part.rank.value()},
                    {"begin_ns", part.span.begin_ns},
                    {"end_ns", part.span.end_ns},
                    {"transfer", part.kind == CriticalPart::Kind::kTransfer},
                    {"event", event ? nlohmann::json(name(event->kind)) : nlohmann::json()},
                    {"place", event ? nlohmann::json(describe(event->place)) : nlohmann::json()}});
  }
  return path;
}

StepLimits answerLimits(const RecordedAnswer& answer) {
  return stepLimits(answer.recorded.program, answer.hardware, answer.timeline);
}

double recordedStepNs(const RecordedAnswer& answer) {
  const std::size_t steps = std::max<std::size_t>(1, answer.timeline.step_end_ns.size());
  return static_cast<double>(answer.recorded.recorded_ns) / static_cast<double>(steps);
}

}  // namespace

nlohmann::json toJson(const RecordedAnswer& answer) {
  const auto count = static_cast<int>(answer.recorded.program.ranks.size());
  nlohmann::json ranks = nlohmann::json::array();
  for (int r = 0; r < count; ++r) {
    nlohmann::json row = toJson(answer.timeline.sum(WorldRank::of(r)), 1);
    row["rank"] = r;
    row["end_ns"] = answer.timeline.rank_end_ns[static_cast<std::size_t>(r)];
    ranks.push_back(row);
  }
  return {{"kind", kModelLabel},
          {"hardware", toJson(answer.hardware)},
          {"first_step", answer.first_step},
          {"last_step", answer.last_step},
          {"step_ns", answer.timeline.stepNs()},
          {"recorded_step_ns", recordedStepNs(answer)},
          {"own_cores", answer.recorded.own_cores},
          {"outside_ns", answer.recorded.outside_ns},
          {"communication", toJson(answer.communication, count)},
          {"limits", toJson(answerLimits(answer))},
          {"ranks", ranks},
          {"layers", layersJson(answer)},
          {"critical_path", pathJson(answer)},
          {"notes", answer.recorded.notes}};
}

std::string toText(const RecordedAnswer& answer) {
  const auto ranks = static_cast<int>(answer.recorded.program.ranks.size());
  const auto& figures = answer.communication;
  const std::string steps = answer.first_step == answer.last_step
                                ? "step " + std::to_string(answer.first_step)
                                : "steps " + std::to_string(answer.first_step) + " to " +
                                      std::to_string(answer.last_step);
  std::string text = "Model, not a measurement: the recorded schedule of " + steps + ", " +
                     describeCount(ranks, "rank") + ", as if each had its own device\n";
  text += "A training step takes " + describeNs(answer.timeline.stepNs()) + "; recorded " +
          describeNs(recordedStepNs(answer)) +
          (answer.recorded.own_cores ? ", on a machine with a core for each rank"
                                     : ", where ranks shared cores or may have") +
          ".\nOf it a rank stands still on average for " +
          describeMeanNs(figures.attention.exposed_ns, ranks) +
          " because of attention's messages (" + describeMeanNs(figures.forward.exposed_ns, ranks) +
          " in forward, " + describeMeanNs(figures.backward.exposed_ns, ranks) + " in backward), " +
          describeMeanNs(figures.other.exposed_ns, ranks) + " because of collectives; " +
          describeMeanNs(figures.attention.hidden_ns, ranks) + " of messages are hidden.\n" +
          describe(answerLimits(answer)) + "\n\n";
  for (int r = 0; r < ranks; ++r) {
    const CommunicationSum sum = answer.timeline.sum(WorldRank::of(r));
    text += "rank " + std::to_string(r) + ": exposed " + describeMeanNs(sum.exposed_ns, 1) +
            ", of that " + describeMeanNs(sum.late_ns, 1) + " for late peers; hidden " +
            describeMeanNs(sum.hidden_ns, 1) + ", " + describeBytes(sum.bytes) + " received\n";
  }
  text += "\nAssumed:\n  link: " + describe(answer.hardware.link) + "\n  " +
          describeOverlap(answer.hardware) +
          "\n  a stage takes the CPU time that was recorded for it" +
          (answer.hardware.compute_scale == 1
               ? ""
               : ", " + describeMultiple(answer.hardware.compute_scale) + " as quick") +
          "\n";
  if (answer.hardware.device)
    text +=
        "  that is " + answer.hardware.device->name + " at " +
        describeEfficiency(answer.hardware.device->efficiency) +
        " of its peak rates, by the time that was recorded for attention; other stages are taken "
        "to be as many times quicker\n";
  if (answer.hardware.floors != Floors{}) text += "  " + describe(answer.hardware.floors) + "\n";
  for (const std::string& note : answer.recorded.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace ringscope::traces
