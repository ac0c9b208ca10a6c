// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/gate/gate.h"
#include "engine/observe/live_tensors.h"
#include "engine/rank/run_switches.h"
#include "traces/exchange/control/requests.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// A run as the control connection asks of it, wherever its ranks are. Requests that cannot be
/// granted throw Error.
class ControlledRun {
 public:
  virtual ~ControlledRun() = default;
  /// Returns when all that was recorded before is written.
  virtual traces::Watermark flush() = 0;
  virtual traces::RecorderStats stats() const = 0;
  /// The run clock.
  virtual std::int64_t now() const = 0;

  /// See tensor_read.h. Only while every rank stands at a gate.
  virtual traces::control::TensorList tensors() = 0;
  virtual traces::control::TensorSlice read(const traces::control::ReadTensor& asked) = 0;

  /// Returns the training step from which every rank does so.
  virtual std::int32_t inject(const std::string& mistake) = 0;
  virtual std::int32_t lift(const std::string& mistake) = 0;
  virtual void setCapture(const std::string& policy) = 0;
  virtual void breakOnNonFinite(bool on) = 0;
};

/// The ranks of this process.
class RunHere : public ControlledRun {
 public:
  /// Pauses at `gate` for a number that is not finite. References outlive this.
  RunHere(Gate& gate, traces::Recorder& recorder, const LiveTensors& live, RunSwitches& switches);
  ~RunHere() override;

  traces::Watermark flush() override { return recorder_.flush(); }
  traces::RecorderStats stats() const override { return recorder_.stats(); }
  std::int64_t now() const override { return recorder_.now(); }
  traces::control::TensorList tensors() override;
  traces::control::TensorSlice read(const traces::control::ReadTensor& asked) override;
  std::int32_t inject(const std::string& mistake) override { return switches_.inject(mistake); }
  std::int32_t lift(const std::string& mistake) override { return switches_.lift(mistake); }
  void setCapture(const std::string& policy) override;
  void breakOnNonFinite(bool on) override { switches_.capture().breakOnNonFinite(on); }

 private:
  traces::Recorder& recorder_;
  const LiveTensors& live_;
  RunSwitches& switches_;
};

}  // namespace ringscope::engine
