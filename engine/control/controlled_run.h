// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/gate/gate.h"
#include "engine/observe/live_tensors.h"
#include "engine/rank/run_switches.h"
#include "traces/exchange/control/requests.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// A run as the control connection sees it, whether its ranks are threads or processes. Requests
/// that cannot be granted throw Error.
class ControlledRun {
 public:
  virtual ~ControlledRun() = default;
  /// Returns when everything that was recorded before the call has been written.
  virtual traces::Watermark flush() = 0;
  virtual traces::RecorderStats stats() const = 0;
  /// Returns the time of the run clock.
  virtual std::int64_t now() const = 0;

  /// Lists the live tensors; see tensor_read.h. Allowed only while every rank stands at a gate.
  virtual traces::control::TensorList tensors() = 0;
  virtual traces::control::TensorSlice read(const traces::control::ReadTensor& asked) = 0;

  /// Injects a mistake. Returns the training step from which every rank makes it.
  virtual std::int32_t inject(const std::string& mistake) = 0;
  virtual std::int32_t lift(const std::string& mistake) = 0;
  virtual void setCapture(const std::string& policy) = 0;
  virtual void breakOnNonFinite(bool on) = 0;
};

/// A run whose ranks are threads of this process.
class RunHere : public ControlledRun {
 public:
  /// Pauses at `gate` when a recorded number is not finite. All references must outlive the object.
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
