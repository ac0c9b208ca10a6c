// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// The connection between ranks. A message of n bytes takes latency + n ÷ bandwidth from when both
/// its ends have posted it and the link is free.
struct Link {
  std::string name = "custom";
  double gigabytes_per_second = 0;  ///< per rank and direction, 10⁹ bytes; 0: unlimited
  double latency_us = 0;            ///< from the first byte sent to the first byte received
  bool full_duplex = true;          ///< sending does not slow down receiving
  /// All messages of a rank share its bandwidth, one after the other in the order of posting. If
  /// false, each pair of ranks has a link of its own.
  bool shared = true;
  friend bool operator==(const Link&, const Link&) = default;
};

/// The least time of one kernel and of one transfer, however small they are; 0: no floor.
struct Floors {
  double kernel_us = 0;      ///< from the start of one kernel to the start of the next
  double collective_us = 0;  ///< of a collective, or of a message that both its ends have posted
  friend bool operator==(const Floors&, const Floors&) = default;
};

/// The peak rates of one device: dense rates, without sparsity.
struct DeviceRates {
  std::string name = "custom";
  double bf16_teraflops = 0;
  double fp32_teraflops = 0;
  double memory_gigabytes_per_second = 0;
  Floors floors;
  friend bool operator==(const DeviceRates&, const DeviceRates&) = default;
};

/// A device at a share of its peak rates.
struct DeviceShare {
  std::string name;
  double efficiency = 1;
  friend bool operator==(const DeviceShare&, const DeviceShare&) = default;
};

/// The hardware on which a schedule is replayed.
struct Hardware {
  Link link;
  std::optional<Link> tp_link;  ///< for collectives of tensor parallelism; nullopt: `link`
  bool overlap = true;          ///< false: a message moves only while both its ends do nothing else
  double compute_scale = 1;     ///< work takes its scheduled time divided by this factor; above 0
  Floors floors;
  /// The device that compute_scale stands for; nullopt: the scale was chosen directly.
  std::optional<DeviceShare> device;
  friend bool operator==(const Hardware&, const Hardware&) = default;
};

template <typename T>
struct Preset {
  std::string_view key;     ///< on the command line: "nvlink4", "h100"
  std::string_view title;   ///< in a list: "NVLink 4 (H100, H200)"
  std::string_view source;  ///< where the figures are published
  T value;
};

/// Return links and devices at their peak rates.
std::span<const Preset<Link>> linkPresets();
std::span<const Preset<DeviceRates>> devicePresets();
/// Return the preset with this key. Throw usageError, which lists all keys, for another key.
const Preset<Link>& linkPreset(std::string_view key);
const Preset<DeviceRates>& devicePreset(std::string_view key);

/// The default share of a device's peak rates that its kernels reach.
inline constexpr double kDefaultEfficiency = 0.6;
std::string_view efficiencySource();
/// Returns the floors of a device of which only the speed is known.
const Floors& defaultFloors();
std::string_view floorsSource();

/// Throws usageError when a figure is negative or not finite, or when a scale is not above 0.
void requireSensible(const Hardware& hardware);

}  // namespace ringscope::traces
