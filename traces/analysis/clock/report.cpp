// SPDX-License-Identifier: Apache-2.0
// The parts that answers for plans and for recordings share.
#include "traces/analysis/clock/report.h"

#include <cmath>

#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

nlohmann::json toJson(const Link& link) {
  return {{"name", link.name},
          {"gigabytes_per_second", link.gigabytes_per_second},
          {"latency_us", link.latency_us},
          {"full_duplex", link.full_duplex},
          {"shared", link.shared}};
}

}  // namespace

nlohmann::json toJson(const CommunicationSum& sum, int ranks) {
  const auto mean = [ranks](std::int64_t value) {
    return static_cast<double>(value) / std::max(1, ranks);
  };
  return {{"bytes", mean(sum.bytes)},         {"under_way_ns", mean(sum.under_way_ns)},
          {"hidden_ns", mean(sum.hidden_ns)}, {"exposed_ns", mean(sum.exposed_ns)},
          {"late_ns", mean(sum.late_ns)},     {"waits", mean(sum.waits)}};
}

nlohmann::json toJson(const CommunicationFigures& figures, int ranks) {
  return {{"attention", toJson(figures.attention, ranks)},
          {"forward", toJson(figures.forward, ranks)},
          {"backward", toJson(figures.backward, ranks)},
          {"forward_kv", toJson(figures.forward_kv, ranks)},
          {"last_hop_home", toJson(figures.last_hop_home, ranks)},
          {"other", toJson(figures.other, ranks)}};
}

nlohmann::json toJson(const Hardware& hardware) {
  nlohmann::json json = {{"link", toJson(hardware.link)},
                         {"tp_link", nullptr},
                         {"overlap", hardware.overlap},
                         {"compute_scale", hardware.compute_scale},
                         {"kernel_floor_us", hardware.floors.kernel_us},
                         {"collective_floor_us", hardware.floors.collective_us},
                         {"device", nullptr},
                         {"efficiency", nullptr}};
  if (hardware.tp_link) json["tp_link"] = toJson(*hardware.tp_link);
  if (hardware.device) {
    json["device"] = hardware.device->name;
    json["efficiency"] = hardware.device->efficiency;
  }
  return json;
}

nlohmann::json toJson(const StepLimits& limits) {
  nlohmann::json json = {{"bound_by", nullptr}, {"link_fixed_ns", limits.link_fixed_ns}};
  if (limits.boundBy()) json["bound_by"] = name(*limits.boundBy());
  for (std::size_t i = 0; i < kValueCount<Limit>; ++i)
    json[std::string(name(static_cast<Limit>(i))) + "_ns"] = limits.ns[i];
  return json;
}

std::string describe(const Floors& floors) {
  const auto least = [](double us) {
    return us > 0 ? "takes at least " + describeSignificant(us, 3) + " µs"
                  : std::string("has no least time");
  };
  return "each kernel " + least(floors.kernel_us) + ", each message and collective " +
         least(floors.collective_us);
}

std::string describe(const Link& link) {
  const std::string rate =
      link.gigabytes_per_second == 0
          ? "endless bandwidth"
          : describeSignificant(link.gigabytes_per_second, 3) + " GB/s in each direction";
  return link.name + ", " + rate + ", latency " + describeSignificant(link.latency_us, 3) +
         " µs, " + (link.full_duplex ? "full duplex" : "half duplex") + ", " +
         (link.shared ? "shared by all messages of a rank" : "one for each pair of ranks");
}

std::string describeOverlap(const Hardware& hardware) {
  return hardware.overlap ? "messages move while ranks compute"
                          : "messages move only while both ranks wait for them";
}

std::string describeEfficiency(double share) {
  return describeSignificant(100 * share, 3) + " %";
}

std::string describeDifference(double share) {
  return share < 0.0995 ? describeSignificant(100 * share, share < 0.00995 ? 1 : 2) + " %"
                        : describeShare(share);
}

std::string describeNs(double ns) {
  return describeDuration(std::llround(ns));
}

std::string describeMeanNs(std::int64_t sum_ns, int ranks) {
  return describeNs(static_cast<double>(sum_ns) / std::max(1, ranks));
}

}  // namespace ringscope::traces
