// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/prediction.h"
#include "traces/analysis/clock/recorded_program.h"

namespace ringscope::traces {

/// What goes with every answer: on what it rests.
struct ModelAssumptions {
  DeviceSpeed device;
  double efficiency = 1;                     ///< of the device's peak
  std::optional<Calibration> calibration{};  ///< in place of peak and efficiency
  Hardware hardware;
  std::vector<std::string> sentences() const;
  /// The share by which two steps must differ for the model to tell them apart: what durations are
  /// printed to, and for a calibration its worst error.
  double uncertainty() const;
};

/// The model's answer for a plan: the asked run, the same with other strategies, other lengths.
struct PlannedAnswer {
  ModelAssumptions assumptions;
  ModelSizes sizes;
  Prediction asked;
  std::vector<Prediction> strategies;
  std::optional<LengthSweep> sweep;
};
nlohmann::json toJson(const PlannedAnswer& answer);
std::string toText(const PlannedAnswer& answer);

/// The model's answer for a recording.
struct RecordedAnswer {
  Hardware hardware;
  std::int32_t first_step = 0, last_step = 0;
  RecordedProgram recorded;
  ModelTimeline timeline;
  CommunicationFigures communication;
};
nlohmann::json toJson(const RecordedAnswer& answer);
std::string toText(const RecordedAnswer& answer);

}  // namespace ringscope::traces
