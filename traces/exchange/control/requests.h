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

/// The requests to a run over the control connection. A request is a struct with its name (`kName`,
/// the "cmd" of its JSON), the type of its answer, and put() and from() for its fields, if any. A
/// new request must be added to `Request` too.
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

/// The base of a request without fields.
template <typename Reply>
struct WithoutFields {
  using Answer = Reply;
  void put(nlohmann::json&) const {}
};

/// The request that every rank stops at the next gate that no rank has passed. The answer comes
/// when all ranks are there.
struct Pause : WithoutFields<StopReport> {
  static constexpr const char* kName = "pause";
};
struct Continue : WithoutFields<Granted> {
  static constexpr const char* kName = "continue";
};
/// The request that the run ends at the next gate that all ranks have in common.
struct Stop : WithoutFields<Granted> {
  static constexpr const char* kName = "stop";
};
struct AskState : WithoutFields<StateReport> {
  static constexpr const char* kName = "state";
};
/// The request for a list of the tensors that a paused run holds.
struct ListTensors : WithoutFields<TensorList> {
  static constexpr const char* kName = "tensors";
};
/// The request to a rank process to send everything recorded so far before it answers.
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

/// The request to a paused run to continue to the next gate, layer or training step. It is answered
/// as a pause is.
struct Step {
  static constexpr const char* kName = "step";
  using Answer = StopReport;
  StepUnit unit = StepUnit::kStage;

  void put(nlohmann::json& object) const;
  static Step from(const Fields& fields);
};

/// The place at which a run should stop by itself. Every field that is set must match the gate's
/// place.
struct BreakPoint {
  std::optional<std::int32_t> train_step;
  std::optional<Layer> layer;
  std::optional<Direction> direction;
  std::optional<RingStep> stage;

  bool matches(const Place& place) const;
};

/// The request that replaces the run's break conditions: a place, the first error of more than
/// `ratio` times its limit, or the first recorded tensor that is not finite.
struct Break {
  static constexpr const char* kName = "break";
  using Answer = Granted;
  std::optional<BreakPoint> at;  ///< nullopt: at no place
  bool on_divergence = false, on_non_finite = false;
  double ratio = 1;

  void put(nlohmann::json& object) const;
  static Break from(const Fields& fields);
};

/// The request to inject a mistake from the next training step on. The mistake is sealed like those
/// that were injected at the start.
struct Inject {
  static constexpr const char* kName = "inject";
  using Answer = ChangedFrom;
  std::string mistake;

  void put(nlohmann::json& object) const;
  static Inject from(const Fields& fields);
};

/// The request to remove an injected mistake from the next training step on.
struct Lift {
  static constexpr const char* kName = "lift";
  using Answer = ChangedFrom;
  std::string mistake;

  void put(nlohmann::json& object) const;
  static Lift from(const Fields& fields);
};

/// The request to record by another policy from the next tensor on: "none" | "stats" | "full" |
/// "values:steps=A-B".
struct SetCapture {
  static constexpr const char* kName = "capture";
  using Answer = Granted;
  std::string policy;

  void put(nlohmann::json& object) const;
  static SetCapture from(const Fields& fields);
};

/// The request for a slice of a tensor of one rank of a paused run. Without `begin` and `end` the
/// slice is the whole tensor. `lead` instead gives one index for each of the first dimensions.
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

/// The request for chunks that were left out of the stream, by their sequence numbers.
struct Resend {
  static constexpr const char* kName = "resend";
  using Answer = Resent;
  std::uint64_t first = 0, last = 0;

  void put(nlohmann::json& object) const;
  static Resend from(const Fields& fields);
};

/// The request to a rank process to pause the run at the first recorded tensor that is not finite,
/// or no longer to do so.
struct BreakOnNonFinite {
  static constexpr const char* kName = "non_finite";
  using Answer = Granted;
  bool on = false;

  void put(nlohmann::json& object) const;
  static BreakOnNonFinite from(const Fields& fields);
};

using Request = std::variant<Hello, Pause, Continue, Stop, AskState, ListTensors, Flush, Step,
                             Break, Inject, Lift, SetCapture, ReadTensor, Resend, BreakOnNonFinite>;

/// The name of a request, and the number that its answer repeats.
struct RequestHead {
  std::string cmd;
  std::optional<std::int64_t> id;

  /// Parses the head of a request. Throws inputError when the message is no object with a "cmd", or
  /// when its "id" is no number.
  static RequestHead from(const nlohmann::json& message);
};

const char* nameFor(const Request& request);
/// Returns a request as a frame.
Bytes encodeRequest(const Request& request, std::optional<std::int64_t> id);
/// Parses a request. Throws inputError that names a field of the wrong type. Throws usageError when
/// there is no such request or a value has no meaning.
Request decodeRequest(const nlohmann::json& message);

}  // namespace ringscope::traces::control
