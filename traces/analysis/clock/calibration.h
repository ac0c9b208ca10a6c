// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "traces/analysis/clock/planned_program.h"
#include "traces/analysis/clock/recorded_program.h"

namespace ringscope::traces {

/// Some work and its recorded time.
struct CostSample {
  StageWork work{0, 0, 0};
  double seconds = 0;
};

/// Fits a cost, none of whose parts is negative, by least squares of errors relative to the
/// recorded times. Samples without a time are ignored.
StageCost fitStageCost(const std::vector<CostSample>& samples);

/// A device and a link, fitted to recordings that were made on them.
struct Calibration {
  DeviceSpeed device;             ///< with DeviceSpeed::measured
  std::optional<Link> link;       ///< of hops; nullopt: there were none
  DType dtype = DType::kFloat32;  ///< of all recordings; other types have other rates
  bool fp8 = false;
  Device made_on = Device::kCpu;
  int recordings = 0;
};

/// Fits the cost of each kind of stage to recordings of runs whose ranks had their own cores or
/// devices. It compares the planned work of the stages with their recorded time, in the median of
/// the training steps. Time between two planned stages counts as the later stage's, and so do
/// collectives that no plan has. A hop takes the time of the waits for it. That is the whole hop if
/// messages move only while ranks wait, as between threads, and a lower bound otherwise.
class Calibrator {
 public:
  /// Adds single training steps of one run. Throws usageError for a run that cannot be planned.
  /// Throws inputError if a step has no model, if ranks shared cores, or if earlier recordings have
  /// another type or device.
  void add(const RunSpec& run, const ModelSizes& sizes, const std::vector<RecordedProgram>& steps);
  /// Adds all steps of a recording but the first two, or all there are.
  void add(const Trace& trace, const ModelSizes& sizes);
  /// Throws inputError when nothing was added.
  Calibration fit() const;

 private:
  std::optional<RunSpec> first_;  ///< the first run
  int recordings_ = 0;
  std::map<Stage, std::vector<CostSample>> stages_;
  std::vector<CostSample> hops_;
};

/// Reads the sizes of a recorded run's model from the configuration that the run names. Throws
/// inputError if it names none.
ModelSizes recordedModelSizes(const Trace& trace);

}  // namespace ringscope::traces
