// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "traces/exchange/control/answers.h"
#include "traces/format/schema/names.h"
#include "traces/format/schema/records.h"
#include "traces/format/stream/frame.h"

/// What can be asked of a run over the control connection. A request is a struct with its name
/// (`kName`, the "cmd" of its JSON), the type of its answer, and its fields, if any, in put() and
/// from(); a new one is added to `Request` too.
namespace ringscope::traces::control {

/// The first request: {"control": version, "at_end_of_input": "finish" | "stop"}.
struct Hello {
  static constexpr const char* kName = "hello";
  using Answer = Granted;
  int version = kControlVersion;
  bool stop_at_end_of_input = false;

  void put(nlohmann::json& object) const;
  static Hello from(const Fields& fields);
};

/// Of a request without fields.
template <typename Reply>
struct WithoutFields {
  using Answer = Reply;
  void put(nlohmann::json&) const {}
};

/// Every rank stops at the next gate that none has passed. Answered when all stand there.
struct Pause : WithoutFields<StopReport> {
  static constexpr const char* kName = "pause";
};
struct Continue : WithoutFields<Granted> {
  static constexpr const char* kName = "continue";
};
/// The run ends at the next gate that is the same for all.
struct Stop : WithoutFields<Granted> {
  static constexpr const char* kName = "stop";
};
struct AskState : WithoutFields<StateReport> {
  static constexpr const char* kName = "state";
};
/// What a paused run holds.
struct ListTensors : WithoutFields<TensorList> {
  static constexpr const char* kName = "tensors";
};
/// To a rank process: all that was recorded before is sent before the answer.
struct Flush : WithoutFields<Flushed> {
  static constexpr const char* kName = "flush";
};

enum class StepUnit : std::uint8_t { kStage = 0, kLayer, kTrainStep, kCount };

}  // namespace ringscope::traces::control

template <>
struct ringscope::traces::EnumNames<ringscope::traces::control::StepUnit> {
  static constexpr const char* kWhat = "unit of a step";
  static constexpr std::array<const char*, 3> kNames = {"stage", "layer", "train_step"};
};

namespace ringscope::traces::control {

/// From a paused run on to the next gate, layer or training step. Answered as a pause is.
struct Step {
  static constexpr const char* kName = "step";
  using Answer = StopReport;
  StepUnit unit = StepUnit::kStage;

  void put(nlohmann::json& object) const;
  static Step from(const Fields& fields);
};

/// Where a run should stop by itself: every field that is set must agree with the gate's place.
struct BreakPoint {
  std::optional<std::int32_t> train_step;
  std::optional<Layer> layer;
  std::optional<Direction> direction;
  std::optional<RingStep> stage;

  bool matches(const Place& place) const;
};

/// Replaces what the run breaks at: a place, the first error of more than `ratio` times its
/// limit, or the first recorded tensor that is not finite.
struct Break {
  static constexpr const char* kName = "break";
  using Answer = Granted;
  std::optional<BreakPoint> at;  ///< nothing: at no place
  bool on_divergence = false, on_non_finite = false;
  double ratio = 1;

  void put(nlohmann::json& object) const;
  static Break from(const Fields& fields);
};

/// A mistake is added from the next training step on. Sealed with what was injected at the start.
struct Inject {
  static constexpr const char* kName = "inject";
  using Answer = ChangedFrom;
  std::string mistake;

  void put(nlohmann::json& object) const;
  static Inject from(const Fields& fields);
};

/// The same, taken away.
struct Lift {
  static constexpr const char* kName = "lift";
  using Answer = ChangedFrom;
  std::string mistake;

  void put(nlohmann::json& object) const;
  static Lift from(const Fields& fields);
};

/// "none" | "stats" | "full" | "values:steps=A-B", from the next tensor on.
struct SetCapture {
  static constexpr const char* kName = "capture";
  using Answer = Granted;
  std::string policy;

  void put(nlohmann::json& object) const;
  static SetCapture from(const Fields& fields);
};

/// Of a paused run: a slice of a tensor of one rank. Without `begin` and `end` all of it; `lead`
/// instead gives one index of each of the first dimensions.
struct ReadTensor {
  static constexpr const char* kName = "read";
  using Answer = TensorSlice;
  WorldRank rank = WorldRank::of(0);
  std::string tensor;
  Layer layer;
  std::vector<std::int64_t> lead, begin, end;

  void put(nlohmann::json& object) const;
  static ReadTensor from(const Fields& fields);
};

/// Chunks that were left out of the stream, by their sequence numbers.
struct Resend {
  static constexpr const char* kName = "resend";
  using Answer = Resent;
  std::uint64_t first = 0, last = 0;

  void put(nlohmann::json& object) const;
  static Resend from(const Fields& fields);
};

/// To a rank process: pause the run at the first recorded tensor that is not finite, or no more.
struct BreakOnNonFinite {
  static constexpr const char* kName = "non_finite";
  using Answer = Granted;
  bool on = false;

  void put(nlohmann::json& object) const;
  static BreakOnNonFinite from(const Fields& fields);
};

using Request = std::variant<Hello, Pause, Continue, Stop, AskState, ListTensors, Flush, Step,
                             Break, Inject, Lift, SetCapture, ReadTensor, Resend, BreakOnNonFinite>;

/// Which request it is, and the number that its answer repeats.
struct RequestHead {
  std::string cmd;
  std::optional<std::int64_t> id;

  /// Throws inputError when the frame holds no object with a "cmd", or a number that is none.
  static RequestHead from(const nlohmann::json& message);
};

const char* nameOf(const Request& request);
/// As a frame.
Bytes encodeRequest(const Request& request, std::optional<std::int64_t> id);
/// Throws inputError that names a field of the wrong type, usageError when there is no such
/// request or a value has no meaning.
Request decodeRequest(const nlohmann::json& message);

}  // namespace ringscope::traces::control
