// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <optional>
#include <tuple>

#include "app/command_line/command.h"
#include "traces/clock/calibration.h"
#include "traces/clock/report.h"
#include "traces/core/error.h"
#include "traces/schema/run_rules.h"

namespace ringscope::app {
namespace {

using namespace traces;

struct Options {
  std::string trace, model, link, tp_link, device = "h100", sweep;
  std::vector<std::string> calibrate;
  std::optional<double> bandwidth, latency;
  double efficiency = 0.6, compute = 1;
  bool half_duplex = false, pair_links = false, no_overlap = false, json = false;
  std::optional<int> step;
  bool named_type = false;
  RunSpec run;
};

template <NamedEnum E>
void addNamed(CLI::App& command, const std::string& option, E& target, const std::string& text) {
  command
      .add_option_function<std::string>(
          option, [&target](const std::string& value) { target = parse<E>(value); }, text)
      ->check(CLI::IsMember(namesOf<E>()))
      ->default_str(name(target));
}

std::string keysOf(const auto& presets) {
  std::string keys;
  for (const auto& preset : presets) keys += (keys.empty() ? "" : ", ") + std::string(preset.key);
  return keys;
}

/// `measured`: by recordings, whose links count where none is asked for.
Hardware hardwareOf(const Options& o, const Calibration& measured = {}) {
  Hardware hardware;
  const bool asked = !o.link.empty() || o.bandwidth;
  if (!asked && !measured.link)
    throw usageError("name the link: --link " + keysOf(linkPresets()) +
                     ", or --bandwidth GB/s and --latency µs");
  if (!o.link.empty())
    hardware.link = linkPreset(o.link).value;
  else if (!asked)
    hardware.link = *measured.link;
  else
    hardware.link.name = "the link asked for";
  if (o.bandwidth) hardware.link.gigabytes_per_second = *o.bandwidth;
  if (o.latency) hardware.link.latency_us = *o.latency;
  if (o.half_duplex) hardware.link.full_duplex = false;
  if (o.pair_links) hardware.link.shared = false;
  hardware.overlap = !o.no_overlap;
  if (!asked && !o.latency) hardware.tp_link = measured.tp_link;
  if (!o.tp_link.empty()) hardware.tp_link = linkPreset(o.tp_link).value;
  hardware.compute_scale = o.compute;
  requireSensible(hardware);
  return hardware;
}

void print(const Options& o, const auto& answer) {
  if (o.json)
    std::cout << toJson(answer).dump(2) << "\n";
  else
    std::cout << toText(answer);
}

/// The last training step that was asked for, or all of them but the first, which warms up.
std::pair<std::int32_t, std::int32_t> stepsOf(const Options& o, const Trace& trace) {
  const auto steps = recordedSteps(trace);
  if (steps.empty()) return {0, 0};
  if (!o.step) return {steps.size() > 1 ? steps[1] : steps[0], steps.back()};
  if (std::find(steps.begin(), steps.end(), *o.step) == steps.end())
    throw usageError("no events of training step " + std::to_string(*o.step) +
                     " were recorded; steps go from " + std::to_string(steps.front()) + " to " +
                     std::to_string(steps.back()));
  return {*o.step, *o.step};
}

int predictRecorded(const Options& o) {
  const auto trace = openTrace(o.trace);
  RecordedAnswer answer;
  answer.hardware = hardwareOf(o);
  std::tie(answer.first_step, answer.last_step) = stepsOf(o, *trace);
  answer.recorded = recordedProgram(*trace, answer.first_step, answer.last_step);
  for (const auto& problem : trace->problems()) std::cerr << "note: " << problem << "\n";
  if (!answer.recorded.usable()) {
    std::string sentence = o.trace + ": there is no model of this recording";
    for (const std::string& lack : answer.recorded.lacks) sentence += "; " + lack;
    throw inputError(sentence);
  }
  answer.timeline = replay(answer.recorded.program, answer.hardware);
  answer.communication = communicationOf(answer.recorded.program, answer.timeline);
  print(o, answer);
  return kSuccess;
}

std::pair<std::int64_t, std::int64_t> rangeOf(const std::string& text) {
  const auto colon = text.find(':');
  const auto whole = [&](const std::string& part) -> std::int64_t {
    if (part.empty() || part.size() > 10 ||
        part.find_first_not_of("0123456789") != std::string::npos)
      throw usageError("--sweep takes FROM:TO, two lengths such as 4096:131072, not '" + text +
                       "'");
    return std::stoll(part);
  };
  if (colon == std::string::npos) return {whole(text), whole(text)};
  return {whole(text.substr(0, colon)), whole(text.substr(colon + 1))};
}

Calibration calibrationOf(const Options& o) {
  Calibrator calibrator;
  for (const std::string& path : o.calibrate) {
    const auto trace = openTrace(path);
    try {
      calibrator.add(*trace, recordedModelSizes(*trace));
    } catch (const Error& error) {
      throw Error(error.code(), path + ": " + error.what());
    }
  }
  return calibrator.fit(!o.no_overlap);
}

/// The asked run, in the type of the recordings: without --dtype in that one.
RunSpec alike(const Options& o, const Calibration& calibration) {
  RunSpec run = o.run;
  run.device = calibration.made_on;
  run.cores = calibration.cores;
  if (!o.named_type) run.dtype = calibration.dtype;
  const auto of = [](DType dtype, bool fp8) {
    return std::string("--dtype ") + name(dtype) + (fp8 ? " --fp8" : "");
  };
  if (run.dtype != calibration.dtype || run.fp8 != calibration.fp8)
    throw usageError("the recordings to calibrate by were made with " +
                     of(calibration.dtype, calibration.fp8) + ", and a run with " +
                     of(run.dtype, run.fp8) +
                     " has other rates; ask for theirs, or record with yours");
  return run;
}

int predictPlanned(const Options& o) {
  PlannedAnswer answer;
  RunSpec asked = o.run;
  answer.sizes = readModelSizes(o.model);
  if (o.calibrate.empty()) {
    answer.assumptions.hardware = hardwareOf(o);
    answer.assumptions.device = speedOf(devicePreset(o.device).value, o.run, o.efficiency);
    answer.assumptions.efficiency = o.efficiency;
  } else {
    answer.assumptions.calibration = calibrationOf(o);
    answer.assumptions.hardware = hardwareOf(o, *answer.assumptions.calibration);
    answer.assumptions.device = answer.assumptions.calibration->device;
    asked = alike(o, *answer.assumptions.calibration);
  }
  const DeviceSpeed& device = answer.assumptions.device;
  const Hardware& hardware = answer.assumptions.hardware;
  answer.asked = predict(asked, answer.sizes, device, hardware);
  answer.strategies = predictStrategies(asked, answer.sizes, device, hardware);
  if (!o.sweep.empty()) {
    const auto [from, to] = rangeOf(o.sweep);
    answer.sweep = sweepLengths(asked, answer.sizes, device, hardware, from, to);
  }
  print(o, answer);
  return kSuccess;
}

int run(const Options& o) {
  if (o.trace.empty() == o.model.empty())
    throw usageError(
        "name a TRACE whose schedule is replayed, or plan one with --model DIR; one of the two");
  if (o.model.empty() && !o.calibrate.empty())
    throw usageError("--calibrate goes with --model: a recorded schedule has its own times");
  return o.trace.empty() ? predictPlanned(o) : predictRecorded(o);
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

void addHardware(CLI::App& command, Options& o) {
  command.add_option("--link", o.link, "Between ranks: " + keysOf(linkPresets()));
  command.add_option("--bandwidth", o.bandwidth, "GB/s of a rank in each direction; 0: endless");
  command.add_option("--latency", o.latency, "µs");
  command.add_option("--tp-link", o.tp_link, "Of tensor parallelism alone, by the same names");
  command.add_flag("--half-duplex", o.half_duplex, "Sending and receiving take turns");
  command.add_flag("--pair-links", o.pair_links, "Every pair of ranks has a link of its own");
  command.add_flag("--no-overlap", o.no_overlap, "Messages move only while ranks wait for them");
  command.add_option("--device", o.device, "With --model: " + keysOf(devicePresets()))
      ->capture_default_str();
  command.add_option("--efficiency", o.efficiency, "With --model: the share of the device's peak")
      ->check(CLI::Range(0.001, 1.0))
      ->capture_default_str();
  command.add_option("--calibrate", o.calibrate,
                     "With --model: recordings that say what stages and hops take, instead of "
                     "--device and --link");
  command.add_option("--compute", o.compute, "How many times quicker than recorded or planned")
      ->check(CLI::Range(1e-6, 1e6))
      ->capture_default_str();
}

}  // namespace

void definePredict(CLI::App& command, int& exit_code) {
  auto o = std::make_shared<Options>();
  o->run.dtype = DType::kBFloat16;
  o->run.seq_len = 32768;
  o->run.batch = 0;
  command.add_option("TRACE", o->trace,
                     "A recording, whose schedule is replayed as if every rank had its own device");
  command.add_option("--model", o->model,
                     "A Hugging Face folder or config.json: plans a step without a recording");
  addRun(command, o->run);
  addHardware(command, *o);
  command
      .add_option("--sweep", o->sweep, "FROM:TO: lengths, doubling, and where a ring hides hops")
      ->type_name("FROM:TO");
  command.add_option("--step", o->step,
                     "Of TRACE: this training step (default: all but the first)");
  command.add_flag("--json", o->json, "Print as JSON");
  command.callback([=, &command, &exit_code] {
    o->named_type = command.count("--dtype") > 0;
    if (o->run.batch == 0) o->run.batch = o->run.dp;
    exit_code = run(*o);
  });
}

}  // namespace ringscope::app
