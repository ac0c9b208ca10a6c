// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// How ranks reach each other. A message of n bytes takes latency + n ÷ bandwidth once both its
/// ends have posted it and the link is free.
struct Link {
  std::string name = "custom";
  double gigabytes_per_second = 0;  ///< of one rank, in each direction; 10⁹ bytes; 0: endless
  double latency_us = 0;            ///< from the first byte sent to the first byte received
  bool full_duplex = true;          ///< sending does not slow receiving down
  /// A rank's messages to different peers share its bandwidth, one after the other in the order of
  /// posting; else every pair of ranks has a link of its own.
  bool shared = true;
  friend bool operator==(const Link&, const Link&) = default;
};

/// The least that one kernel and one transfer take, however little they do; 0: no floor.
struct Floors {
  double kernel_us = 0;      ///< from the start of one kernel to the start of the next
  double collective_us = 0;  ///< of a collective, or of a message that both its ends have posted
  friend bool operator==(const Floors&, const Floors&) = default;
};

/// What one device computes at most: dense rates, without sparsity.
struct DeviceRates {
  std::string name = "custom";
  double bf16_teraflops = 0;
  double fp8_teraflops = 0;
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

/// What a schedule is replayed on.
struct Hardware {
  Link link;
  std::optional<Link> tp_link;  ///< of collectives under tensor parallelism; nothing: `link`
  bool overlap = true;          ///< false: a message moves only while both its ends do nothing else
  double compute_scale = 1;     ///< how many times quicker than the schedule's own work times; > 0
  Floors floors;                ///< of its kernels and transfers
  /// The device that compute_scale stands for; nothing: the scale was set by itself.
  std::optional<DeviceShare> device;
  friend bool operator==(const Hardware&, const Hardware&) = default;
};

/// A preset, the words to choose it by, and where its figures are from.
template <typename T>
struct Preset {
  std::string_view key;     ///< "nvlink4", "h100": on the command line
  std::string_view title;   ///< "NVLink 4 (H100, H200)": in a list
  std::string_view source;  ///< of its figures
  T value;
};

/// NVLink 4 and 5, PCIe 4.0 and 5.0 ×16, InfiniBand NDR 400, Ethernet 100 GbE: peak rates.
std::span<const Preset<Link>> linkPresets();
/// H100, H200 (SXM), B200 (HGX): peak rates.
std::span<const Preset<DeviceRates>> devicePresets();

/// The share of a device's peak rates that its kernels reach unless another is asked for.
inline constexpr double kDefaultEfficiency = 0.6;
std::string_view efficiencySource();
/// The floors of a device of which only a speed is known.
const Floors& defaultFloors();
std::string_view floorsSource();

/// Of this key. Throws usageError that names all keys.
const Preset<Link>& linkPreset(std::string_view key);
const Preset<DeviceRates>& devicePreset(std::string_view key);

/// Throws usageError when a figure is negative or not finite, or a scale is not above 0.
void requireSensible(const Hardware& hardware);

}  // namespace ringscope::traces
