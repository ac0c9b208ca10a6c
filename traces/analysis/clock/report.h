// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/analysis/clock/calibration.h"
#include "traces/analysis/clock/prediction.h"

namespace ringscope::traces {

/// The device and hardware on which a planned answer rests.
struct ModelAssumptions {
  DeviceSpeed device;
  double efficiency = 1;                     ///< the share of the device's peak
  std::optional<Calibration> calibration{};  ///< replaces peak and efficiency
  Hardware hardware;
  std::vector<std::string> sentences() const;
  /// Returns those of the sentences that hold for a layer alone.
  std::vector<std::string> layerSentences() const;
};

/// The model's answer for a plan: the asked run, the same run with other strategies, and with other
/// lengths.
struct PlannedAnswer {
  ModelAssumptions assumptions;
  ModelSizes sizes;
  Prediction asked;
  std::vector<Prediction> strategies;
  std::optional<LengthSweep> sweep;
  /// Returns the share by which two steps must differ for the model to tell them apart. It is the
  /// precision of printed durations, or the spread of the asked step if that is larger; an unknown
  /// spread counts as 1.
  double uncertainty() const;
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

// Parts of both answers. `ranks`: the number of ranks over which sums become means.
nlohmann::json toJson(const CommunicationSum& sum, int ranks);
nlohmann::json toJson(const CommunicationFigures& figures, int ranks);
nlohmann::json toJson(const Hardware& hardware);
nlohmann::json toJson(const StepLimits& limits);
std::string describe(const Link& link);
std::string describe(const Floors& floors);
std::string describeOverlap(const Hardware& hardware);
/// Returns "60 %", with three digits.
std::string describeEfficiency(double share);
/// Returns a difference as "12 %" or "0.3 %".
std::string describeDifference(double share);
std::string describeNs(double ns);
std::string describeMeanNs(std::int64_t sum_ns, int ranks);

}  // namespace ringscope::traces
