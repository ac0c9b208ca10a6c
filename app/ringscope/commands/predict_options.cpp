// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/commands/predict_options.h"

#include <sstream>

#include "traces/format/core/error.h"

namespace ringscope::app {

using namespace traces;

namespace {

template <NamedEnum E>
void addNamed(CLI::App& command, const std::string& option, E& target, const std::string& text) {
  command
      .add_option_function<std::string>(
          option, [&target](const std::string& value) { target = parse<E>(value); }, text)
      ->check(CLI::IsMember(namesOf<E>()))
      ->default_str(name(target));
}

std::string joinKeys(const auto& presets) {
  std::string keys;
  for (const auto& preset : presets) keys += (keys.empty() ? "" : ", ") + std::string(preset.key);
  return keys;
}

std::string floorText(double us) {
  std::ostringstream text;
  text << us << " on a device or with --compute, 0 for what was recorded as it was)";
  return text.str();
}

}  // namespace

Hardware chooseHardware(const PredictOptions& o, const Calibration& measured) {
  Hardware hardware;
  const bool asked = !o.link.empty() || o.bandwidth;
  if (!asked && !measured.link)
    throw usageError("name the link: --link " + joinKeys(linkPresets()) +
                     ", or --bandwidth GB/s and --latency µs");
  if (!o.link.empty())
    hardware.link = linkPreset(o.link).value;
  else if (!asked)
    hardware.link = *measured.link;
  else
    hardware.link.name = "the link asked for";
  if (!o.link.empty() && (o.bandwidth || o.latency)) hardware.link.name += ", changed";
  if (o.bandwidth) hardware.link.gigabytes_per_second = *o.bandwidth;
  if (o.latency) hardware.link.latency_us = *o.latency;
  if (o.half_duplex) hardware.link.full_duplex = false;
  if (o.pair_links) hardware.link.shared = false;
  hardware.overlap = !o.no_overlap;
  if (!o.tp_link.empty()) hardware.tp_link = linkPreset(o.tp_link).value;
  hardware.compute_scale = o.compute;
  requireSensible(hardware);
  return hardware;
}

void setFloors(const PredictOptions& o, const Floors& of_device, Hardware& hardware) {
  hardware.floors = of_device;
  if (o.kernel_floor) hardware.floors.kernel_us = *o.kernel_floor;
  if (o.collective_floor) hardware.floors.collective_us = *o.collective_floor;
  requireSensible(hardware);
}

void addRun(CLI::App& command, RunSpec& run) {
  command.add_option("--dp", run.dp, "Ranks that share the batch")->check(CLI::Range(1, 1 << 20));
  command.add_option("--tp", run.tp, "Ranks that share each layer")->check(CLI::Range(1, 1024));
  command.add_option("--cp", run.cp, "Ranks that share a sequence")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--seq-len", run.seq_len, "Tokens in a sequence")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  command.add_option("--batch", run.batch, "Sequences of all dp ranks (default: one for each)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  addNamed(command, "--strategy", run.strategy, "How attention is shared");
  command.add_option("--ulysses", run.ulysses, "Ranks that share heads, with --strategy hybrid")
      ->check(CLI::Range(1, 1024));
  addNamed(command, "--rotate", run.rotate, "How KV blocks travel round a ring");
  addNamed(command, "--order", run.order, "Which block backward begins with");
  command.add_option_function<std::string>(
      "--balance", [&run](const std::string& text) { run.balance = parse<Balance>(text); },
      "How tokens are dealt: none, head_tail or striped (default: head_tail for causal masks)");
  addNamed(command, "--mask", run.mask, "Which keys a query sees");
  command.add_option("--window", run.window, "Keys seen to the left, the query's own included")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  addNamed(command, "--dtype", run.dtype,
           "Of weights and activations; with --calibrate that of the recordings");
  command.add_flag("--fp8", run.fp8, "KV travels as e4m3 with a scale for each row");
  command.add_flag("--recompute", run.recompute, "Compute activations again in backward");
}

void addHardware(CLI::App& command, PredictOptions& o) {
  command.add_option("--link", o.link, "Between ranks: " + joinKeys(linkPresets()));
  command.add_option("--bandwidth", o.bandwidth, "GB/s of a rank in each direction; 0: endless");
  command.add_option("--latency", o.latency, "µs");
  command.add_option("--tp-link", o.tp_link, "Of tensor parallelism alone, by the same names");
  command.add_flag("--half-duplex", o.half_duplex, "Sending and receiving take turns");
  command.add_flag("--pair-links", o.pair_links, "Every pair of ranks has a link of its own");
  command.add_flag("--no-overlap", o.no_overlap, "Messages move only while ranks wait for them");
  command
      .add_option("--device", o.device,
                  "Whose rates --model plans with, and how quick TRACE would be (default for "
                  "TRACE: as recorded): " +
                      joinKeys(devicePresets()))
      ->capture_default_str();
  command
      .add_option("--efficiency", o.efficiency,
                  "The share of the device's peak rates that its kernels reach; " +
                      std::string(efficiencySource()))
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  command.add_option("--kernel-floor", o.kernel_floor,
                     "µs that each kernel takes at least; 0: none (default: " +
                         floorText(defaultFloors().kernel_us));
  command.add_option("--collective-floor", o.collective_floor,
                     "µs that each message and collective takes at least; 0: none (default: " +
                         floorText(defaultFloors().collective_us) +
                         ". Sources: " + std::string(floorsSource()));
  command.add_option("--calibrate", o.calibrate,
                     "With --model: recordings that say what stages and hops take, instead of "
                     "--device and --link");
  command.add_option("--compute", o.compute, "How many times quicker than recorded or planned")
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
}

}  // namespace ringscope::app
