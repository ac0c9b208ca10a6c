// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <optional>
#include <tuple>

#include "app/command_line/command.h"
#include "app/ringscope/commands/predict_options.h"
#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/device_scale.h"
#include "traces/analysis/clock/report.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::app {
namespace {

using namespace traces;

using Options = PredictOptions;

/// Sets how many times faster the recorded stages run on the device that --device names, by the
/// ratio of attention times. A prediction at the recorded speed has no floors, because the recorded
/// times include them.
void scaleToDevice(const Options& o, const RecordedProgram& recorded, const RunSpec* run,
                   Hardware& hardware) {
  if (!o.named_device) {
    if (o.named_efficiency)
      throw usageError("--efficiency is a share of a device's peak rates; name one by --device");
    return setFloors(o, o.compute == 1 ? Floors{} : defaultFloors(), hardware);
  }
  const DeviceRates& device = devicePreset(o.device).value;
  const DeviceScale scale = deviceScale(recorded, run, device, o.efficiency);
  if (scale.times == 0)
    throw inputError(o.trace + ": it cannot be told how much quicker " + device.name +
                     " would be: " + scale.why + "; set --compute instead of --device");
  hardware.compute_scale = scale.times * o.compute;
  hardware.device = DeviceShare{device.name, o.efficiency};
  setFloors(o, device.floors, hardware);
}

void print(const Options& o, const auto& answer) {
  if (o.json)
    std::cout << toJson(answer).dump(2) << "\n";
  else
    std::cout << toText(answer);
}

/// Returns the first and last training step to use: the step of --step, or all but the first step,
/// which warms up.
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
  scaleToDevice(o, answer.recorded, trace->run(), answer.hardware);
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

/// Returns the planned run with the recordings' device and cores, and with their type unless
/// --dtype is given.
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
    const DeviceRates& device = devicePreset(o.device).value;
    answer.assumptions.device = speedOf(device, o.run, o.efficiency);
    answer.assumptions.efficiency = o.efficiency;
    answer.assumptions.hardware.device = DeviceShare{device.name, o.efficiency};
    setFloors(o, device.floors, answer.assumptions.hardware);
  } else {
    answer.assumptions.calibration = calibrationOf(o);
    answer.assumptions.hardware = hardwareOf(o, *answer.assumptions.calibration);
    setFloors(o, {}, answer.assumptions.hardware);
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
    o->named_device = command.count("--device") > 0;
    o->named_efficiency = command.count("--efficiency") > 0;
    if (o->run.batch == 0) o->run.batch = o->run.dp;
    exit_code = run(*o);
  });
}

}  // namespace ringscope::app
