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

/// What `ringscope predict` is asked.
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

/// The options of the planned run.
void addRun(CLI::App& command, traces::RunSpec& run);
/// The options of links, devices and floors.
void addHardware(CLI::App& command, PredictOptions& options);

/// `measured`: by recordings, whose links count where none is asked for. Throws usageError where no
/// link is named.
traces::Hardware hardwareOf(const PredictOptions& options,
                            const traces::Calibration& measured = {});
/// Floors that were asked for come before those of a device.
void setFloors(const PredictOptions& options, const traces::Floors& of_device,
               traces::Hardware& hardware);

}  // namespace ringscope::app
