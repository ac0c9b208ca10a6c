// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <tuple>

#include "app/command_line/command.h"
#include "app/ringscope/commands/predict_options.h"
#include "traces/analysis/clock/device_scale.h"
#include "traces/analysis/clock/report.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/lacks.h"

namespace ringscope::app {
namespace {

using namespace traces;

using Options = PredictOptions;

/// A named device makes all recorded stages faster by the factor by which it makes attention
/// faster. A replay at the recorded speed has no floors, because the recording has its own.
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

int print(const Options& o, const auto& answer) {
  std::cout << (o.json ? toJson(answer).dump(2) + "\n" : toText(answer));
  return kSuccess;
}

/// Returns the first and last step: the one that was asked for, or all steps after the warm-up.
std::pair<std::int32_t, std::int32_t> chooseSteps(const Options& o, const Trace& trace) {
  const auto steps = recordedSteps(trace);
  if (steps.empty()) return {0, 0};
  if (!o.step) return {steps.size() > 1 ? steps[1] : steps[0], steps.back()};
  if (!std::ranges::binary_search(steps, *o.step))
    throw usageError("no events of training step " + std::to_string(*o.step) +
                     " were recorded; steps go from " + std::to_string(steps.front()) + " to " +
                     std::to_string(steps.back()));
  return {*o.step, *o.step};
}

int predictRecorded(const Options& o) {
  const auto trace = openTrace(o.trace);
  RecordedAnswer answer;
  answer.hardware = chooseHardware(o);
  std::tie(answer.first_step, answer.last_step) = chooseSteps(o, *trace);
  answer.recorded = recordedProgram(*trace, answer.first_step, answer.last_step);
  for (const auto& remark : traces::listRemarks(*trace)) std::cerr << "note: " << remark << "\n";
  if (!answer.recorded.usable()) {
    std::string sentence = o.trace + ": there is no model of this recording";
    for (const std::string& lack : answer.recorded.lacks) sentence += "; " + lack;
    throw inputError(sentence);
  }
  scaleToDevice(o, answer.recorded, trace->run(), answer.hardware);
  answer.timeline = replay(answer.recorded.program, answer.hardware);
  answer.communication = sumCommunication(answer.recorded.program, answer.timeline);
  return print(o, answer);
}

std::pair<std::int64_t, std::int64_t> parseRange(const std::string& text) {
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

Calibration calibrate(const Options& o) {
  Calibrator calibrator;
  for (const std::string& path : o.calibrate) {
    const auto trace = openTrace(path);
    try {
      calibrator.add(*trace, recordedModelSizes(*trace));
    } catch (const Error& error) {
      throw Error(error.code(), path + ": " + error.what());
    }
  }
  return calibrator.fit();
}

/// Returns the asked run in the type of the recordings, which is the default for --dtype.
RunSpec withRecordedType(const Options& o, const Calibration& calibration) {
  RunSpec run = o.run;
  run.device = calibration.made_on;
  if (!o.named_type) run.dtype = calibration.dtype;
  const auto options = [](DType dtype, bool fp8) {
    return std::string("--dtype ") + name(dtype) + (fp8 ? " --fp8" : "");
  };
  if (run.dtype != calibration.dtype || run.fp8 != calibration.fp8)
    throw usageError("the recordings to calibrate by were made with " +
                     options(calibration.dtype, calibration.fp8) + ", and a run with " +
                     options(run.dtype, run.fp8) +
                     " has other rates; ask for theirs, or record with yours");
  return run;
}

int predictPlanned(const Options& o) {
  PlannedAnswer answer;
  RunSpec asked = o.run;
  ModelAssumptions& assumed = answer.assumptions;
  answer.sizes = readModelSizes(o.model);
  if (o.calibrate.empty()) {
    const DeviceRates& rates = devicePreset(o.device).value;
    assumed.hardware = chooseHardware(o);
    assumed.device = deviceSpeed(rates, o.run, o.efficiency);
    assumed.efficiency = o.efficiency;
    assumed.hardware.device = DeviceShare{rates.name, o.efficiency};
    setFloors(o, rates.floors, assumed.hardware);
  } else {
    assumed.calibration = calibrate(o);
    assumed.hardware = chooseHardware(o, *assumed.calibration);
    setFloors(o, {}, assumed.hardware);
    assumed.device = assumed.calibration->device;
    asked = withRecordedType(o, *assumed.calibration);
  }
  answer.asked = predict(asked, answer.sizes, assumed.device, assumed.hardware);
  answer.strategies = predictStrategies(asked, answer.sizes, assumed.device, assumed.hardware);
  if (!o.sweep.empty()) {
    const auto [from, to] = parseRange(o.sweep);
    answer.sweep = sweepLengths(asked, answer.sizes, assumed.device, assumed.hardware, from, to);
  }
  return print(o, answer);
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
                     "A recording. Its schedule is replayed as if every rank had its own device");
  command.add_option("--model", o->model,
                     "A Hugging Face folder or config.json: predict a step without a recording");
  addRun(command, o->run);
  addHardware(command, *o);
  command.add_option(
      "--tp-link", o->tp_link,
      "The link for tensor parallelism, by the same names (default: the link between ranks)");
  command.add_option("--calibrate", o->calibrate,
                     "With --model: recordings from which the costs of stages and hops are fitted, "
                     "instead of --device and --link");
  command
      .add_option("--sweep", o->sweep,
                  "Predict sequence lengths from FROM to TO, doubling, and report from which "
                  "length a ring hides its hops")
      ->type_name("FROM:TO");
  command.add_option("--step", o->step, "The training step of TRACE (default: all but the first)");
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
