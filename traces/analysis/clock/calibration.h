// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/clock/planned_program.h"
#include "traces/analysis/clock/recorded_program.h"
#include "traces/analysis/clock/recorded_times.h"

namespace ringscope::traces {

/// A device and a link by what recordings made on them took.
struct Calibration {
  DeviceSpeed device;  ///< with DeviceSpeed::measured
  /// Of messages of attention; where no recording has any, tp_link.
  std::optional<Link> link;
  std::optional<Link> tp_link;  ///< of tensor parallelism's all-reduces; nothing: there are none
  /// Of the recordings, all of them: rates of a device are other ones for other types.
  DType dtype = DType::kFloat32;
  bool fp8 = false;
  Device made_on = Device::kCpu;
  std::int32_t cores = 0;
  int recordings = 0;
  double median_error = 0, worst_error = 0;  ///< shares of their own recorded step times
};

/// Fits what each kind of stage takes to recordings of runs whose ranks had cores or devices of
/// their own: each plan's operations and bytes (PlannedSizes) against the recorded time of the same
/// stages, by least squares of relative errors (fit_costs.h). Of a run the median of its training
/// steps counts. The time of a collective that no plan has counts as its stage's; what a gradient
/// sync takes beyond the link's time too; all-reduces of activations give a link of their own. A
/// hop's time is that of the waits for it, which is all of it where messages move only while ranks
/// wait, as on threads, and a lower bound elsewhere.
class Calibrator {
 public:
  /// `steps`: recordedProgram() of single training steps of one run. Throws inputError where there
  /// is no model of them, where ranks shared cores, or where what was added before computed in
  /// another type or on another device; usageError for a run that cannot be planned.
  void add(const RunSpec& run, const ModelSizes& sizes, const std::vector<RecordedProgram>& steps);
  /// All steps of a recording but the first two, or what there is; as add() above.
  void add(const Trace& trace, const ModelSizes& sizes);
  /// `overlap`: as Hardware::overlap, for the errors. Throws inputError when nothing was added.
  Calibration fit(bool overlap) const;

 private:
  using Stage = RecordedTimes::Stage;
  static constexpr Stage kSync{EventKind::kGradSync, Direction::kBackward};
  struct Run {
    RunSpec run;
    ModelSizes sizes;
    double step_ns = 0;
  };
  /// A gradient sync, whose collective's share is known when the link is.
  struct Sync {
    StageSample sample;
    std::int64_t bytes = 0;
    std::int32_t ranks = 1;
  };
  void requireAlike(const RunSpec& run) const;
  /// `between`: what is done from each stage to the next.
  void addRank(std::map<Stage, StageSample> planned, BetweenSample between,
               const Program::Collective* sync, const std::vector<RecordedTimes>& times);
  std::vector<StageSample> syncSamples(const Link& link) const;

  std::vector<Run> runs_;
  std::map<Stage, std::vector<StageSample>> samples_;
  std::vector<BetweenSample> between_;
  std::vector<StageSample> hops_;
  std::vector<AllReduces> activations_;
  std::vector<Sync> syncs_;
};

/// The sizes of a recorded run's model: of the configuration that it names. Throws inputError where
/// that is not there, and says what to name instead.
ModelSizes recordedModelSizes(const Trace& trace);

}  // namespace ringscope::traces
