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
      ->check(CLI::IsMember(allNames<E>()))
      ->default_str(name(target));
}

std::string joinKeys(const auto& presets) {
  std::string keys;
  for (const auto& preset : presets) keys += (keys.empty() ? "" : ", ") + std::string(preset.key);
  return keys;
}

std::string floorText(double us) {
  std::ostringstream text;
  text << us << " on a device or with --compute, otherwise 0)";
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
  command.add_option("--dp", run.dp, "Number of ranks that share the batch")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--tp", run.tp, "Number of ranks that share each layer")
      ->check(CLI::Range(1, 1024));
  command.add_option("--cp", run.cp, "Number of ranks that share a sequence")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--seq-len", run.seq_len, "Number of tokens per sequence")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  command
      .add_option("--batch", run.batch,
                  "Number of sequences over all dp ranks (default: one per dp rank)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  addNamed(command, "--strategy", run.strategy, "How ranks share attention");
  command
      .add_option("--ulysses", run.ulysses,
                  "Number of ranks that share heads, with --strategy hybrid")
      ->check(CLI::Range(1, 1024));
  addNamed(command, "--rotate", run.rotate, "How KV blocks move around a ring");
  addNamed(command, "--order", run.order, "The block with which backward begins");
  command.add_option_function<std::string>(
      "--balance", [&run](const std::string& text) { run.balance = parse<Balance>(text); },
      "How tokens are distributed over ranks: none, head_tail or striped (default: head_tail for "
      "causal masks)");
  addNamed(command, "--mask", run.mask, "The keys that a query attends");
  command
      .add_option("--window", run.window,
                  "Number of keys that a query attends, including its own, with --mask window")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  addTypes(command, run,
           "Type of weights and activations (with --calibrate: the type of the recordings)");
  command.add_flag("--recompute", run.recompute, "Recompute activations in backward");
}

void addTypes(CLI::App& command, RunSpec& run, const std::string& text) {
  addNamed(command, "--dtype", run.dtype, text);
  command.add_flag("--fp8", run.fp8, "Send KV as FP8 (e4m3) with one scale per row");
}

void addHardware(CLI::App& command, PredictOptions& o) {
  command.add_option("--link", o.link, "The link between ranks: " + joinKeys(linkPresets()));
  command.add_option("--bandwidth", o.bandwidth,
                     "Bandwidth per rank in each direction, in GB/s; 0: unlimited");
  command.add_option("--latency", o.latency, "Latency of a message, in µs");
  command.add_flag("--half-duplex", o.half_duplex,
                   "A rank cannot send and receive at the same time");
  command.add_flag("--pair-links", o.pair_links, "Every pair of ranks has its own link");
  command.add_flag("--no-overlap", o.no_overlap, "Messages move only while a rank waits for them");
  command
      .add_option("--device", o.device,
                  "The device whose rates are used (default for TRACE: the recorded rates): " +
                      joinKeys(devicePresets()))
      ->capture_default_str();
  command
      .add_option("--efficiency", o.efficiency,
                  "The fraction of the device's peak rates that kernels reach; " +
                      std::string(efficiencySource()))
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  command.add_option("--kernel-floor", o.kernel_floor,
                     "The shortest time of a kernel, in µs; 0: no limit (default: " +
                         floorText(defaultFloors().kernel_us));
  command.add_option("--collective-floor", o.collective_floor,
                     "The shortest time of a message or collective, in µs; 0: no limit (default: " +
                         floorText(defaultFloors().collective_us) +
                         ". Sources: " + std::string(floorsSource()));
  command
      .add_option("--compute", o.compute,
                  "The factor by which compute is faster than recorded or predicted")
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
}

}  // namespace ringscope::app
