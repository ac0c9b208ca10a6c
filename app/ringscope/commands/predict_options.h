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

/// The options of `ringscope predict`.
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
/// Adds the options of links, devices and floors.
void addHardware(CLI::App& command, PredictOptions& options);

/// Returns the hardware of the prediction. `measured` is a calibration by recordings; its links are
/// used where no link is named. Throws usageError if no link is known.
traces::Hardware hardwareOf(const PredictOptions& options,
                            const traces::Calibration& measured = {});
/// Sets the floors of `hardware`. Floors given as options take precedence over those of a device.
void setFloors(const PredictOptions& options, const traces::Floors& of_device,
               traces::Hardware& hardware);

}  // namespace ringscope::app
