// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/hardware.h"

#include <array>
#include <cmath>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

// NCCL assumes these latencies for one ring step with its Simple protocol over NVLink, PCIe and a
// network: hwLat in src/graph/tuning.cc of NVIDIA/nccl.
constexpr double kNvlinkUs = 3.4, kPcieUs = 5.7, kNetworkUs = 14.0;

// Bandwidths are per direction; NVIDIA's datasheets print the sum of both directions.
const std::array<Preset<Link>, 6> kLinks = {{
    {"nvlink4",
     "NVLink 4 (H100, H200)",
     "900 GB/s a GPU in both directions: NVIDIA, H100 and H200 Tensor Core GPU datasheets",
     {"NVLink 4", 450, kNvlinkUs, true, true}},
    {"nvlink5",
     "NVLink 5 (B200)",
     "1.8 TB/s a GPU in both directions: NVIDIA, HGX B200 specifications",
     {"NVLink 5", 900, kNvlinkUs, true, true}},
    {"pcie4",
     "PCIe 4.0 ×16",
     "16 GT/s a lane, 128b/130b, 16 lanes: PCI-SIG, PCI Express Base Specification 4.0",
     {"PCIe 4.0 ×16", 31.5, kPcieUs, true, true}},
    {"pcie5",
     "PCIe 5.0 ×16",
     "32 GT/s a lane, 128b/130b, 16 lanes: PCI-SIG, PCI Express Base Specification 5.0",
     {"PCIe 5.0 ×16", 63.0, kPcieUs, true, true}},
    {"ndr400",
     "InfiniBand NDR 400, an adapter a rank",
     "400 Gb/s: NVIDIA, ConnectX-7 user manual",
     {"InfiniBand NDR 400", 50, kNetworkUs, true, true}},
    {"eth100",
     "Ethernet 100 GbE (RoCE), an adapter a rank",
     "100 Gb/s: IEEE 802.3; the latency is that of RDMA, TCP takes longer",
     {"Ethernet 100 GbE", 12.5, kNetworkUs, true, true}},
}};

// A host starts an empty kernel 2.37 µs after the call on an Intel host with an H100 (2.26 µs: AMD
// host, A100; 2.77 µs: GH200), "Characterizing and Optimizing LLM Inference Workloads on CPU-GPU
// Coupled Architectures", arXiv:2504.11750, table of nullKernel launches. No figure is published
// for the B200, which gets the H100's. PyTorch's eager mode takes several times as long per
// operator; CUDA graphs take less.
constexpr double kKernelUs = 2.4;
// NCCL assumes this time for a ring collective with its Simple protocol before the first step:
// baseLat in src/graph/tuning.cc of NVIDIA/nccl.
constexpr double kCollectiveUs = 8.4;
constexpr Floors kFloors{kKernelUs, kCollectiveUs};

// Dense rates; datasheets print twice as much, for 2:4 sparsity.
const std::array<Preset<DeviceRates>, 3> kDevices = {{
    {"h100",
     "H100 SXM (80 GB HBM3)",
     "NVIDIA, H100 Tensor Core GPU datasheet",
     {"H100 SXM", 989, 67, 3350, kFloors}},
    {"h200",
     "H200 SXM (141 GB HBM3e)",
     "NVIDIA, H200 Tensor Core GPU datasheet",
     {"H200 SXM", 989, 67, 4800, kFloors}},
    {"b200",
     "B200 of an HGX (1,000 W)",
     "NVIDIA, Blackwell architecture technical brief: HGX B200, per GPU",
     {"B200", 2250, 80, 8000, kFloors}},
}};

template <typename Presets>
const auto& findPreset(const Presets& presets, std::string_view key, const char* what) {
  std::string keys;
  for (const auto& preset : presets) {
    if (preset.key == key) return preset;
    keys += (keys.empty() ? "" : ", ") + std::string(preset.key);
  }
  throw usageError(std::string("there is no ") + what + " '" + std::string(key) + "'; use " + keys);
}

void requireSensible(const Link& link) {
  const auto fine = [](double value) { return std::isfinite(value) && value >= 0 && value <= 1e9; };
  if (!fine(link.gigabytes_per_second))
    throw usageError("a link needs a bandwidth in GB/s of 0 (endless) or more");
  if (!fine(link.latency_us)) throw usageError("a link needs a latency in µs of 0 or more");
}

void requireSensible(const Floors& floors) {
  for (const double floor : {floors.kernel_us, floors.collective_us})
    if (!std::isfinite(floor) || floor < 0 || floor > 1e6)
      throw usageError("a floor needs a time in µs of 0 (none) to 1,000,000");
}

}  // namespace

std::string_view efficiencySource() {
  return "attention reaches 50 to 73 % of an A100's peak (FlashAttention-2, arXiv:2307.08691) and "
         "up to 75 % of an H100's (FlashAttention-3, arXiv:2407.08608); whole training steps on "
         "H100s "
         "reach 41 to 48 %, communication included (README of NVIDIA/Megatron-LM)";
}
const Floors& defaultFloors() {
  return kFloors;
}
std::string_view floorsSource() {
  return "kernels: launches of an empty kernel on an H100, arXiv:2504.11750; transfers: baseLat of "
         "a "
         "ring with the Simple protocol, src/graph/tuning.cc of NVIDIA/nccl";
}

std::span<const Preset<Link>> linkPresets() {
  return kLinks;
}
std::span<const Preset<DeviceRates>> devicePresets() {
  return kDevices;
}

const Preset<Link>& linkPreset(std::string_view key) {
  return findPreset(kLinks, key, "link");
}
const Preset<DeviceRates>& devicePreset(std::string_view key) {
  return findPreset(kDevices, key, "device");
}

void requireSensible(const Hardware& hardware) {
  requireSensible(hardware.link);
  if (hardware.tp_link) requireSensible(*hardware.tp_link);
  if (!(hardware.compute_scale > 0) || !(hardware.compute_scale <= 1e9))
    throw usageError("compute can be quicker or slower by a factor above 0 only");
  requireSensible(hardware.floors);
}

}  // namespace ringscope::traces
