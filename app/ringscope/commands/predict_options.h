// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/hardware.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::app {

/// The command line of `ringscope predict`.
struct PredictOptions {
  std::string trace, model, link, tp_link, device = "h100", sweep;
  std::vector<std::string> calibrate;
  std::optional<double> bandwidth, latency, kernel_floor, collective_floor;
  double efficiency = traces::kDefaultEfficiency, compute = 1;
  bool half_duplex = false, pair_links = false, no_overlap = false, json = false;
  std::optional<int> step;
  bool named_type = false, named_device = false, named_efficiency = false;
  traces::RunSpec run;
};

/// Adds the options of the planned run.
void addRun(CLI::App& command, traces::RunSpec& run);
/// Adds --dtype, which has this help text, and --fp8.
void addTypes(CLI::App& command, traces::RunSpec& run, const std::string& text);
/// Adds the options of the link between ranks, of devices and floors.
void addHardware(CLI::App& command, PredictOptions& options);

/// Returns the hardware that was asked for. The default for --link is the link of `measured`.
/// Throws usageError if there is none.
traces::Hardware chooseHardware(const PredictOptions& options,
                                const traces::Calibration& measured = {});
/// Sets the floors that were asked for, and the device's floors for the rest.
void setFloors(const PredictOptions& options, const traces::Floors& of_device,
               traces::Hardware& hardware);

}  // namespace ringscope::app
