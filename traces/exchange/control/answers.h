// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "traces/exchange/control/fields.h"
#include "traces/format/schema/place.h"

/// The answers of a run to the requests of requests.h. Each answer writes and reads its JSON fields
/// in put() and from().
namespace ringscope::traces::control {

/// The answer to a request that was carried out and has no result.
struct Granted {
  void put(nlohmann::json&) const {}
  static Granted from(const Fields&) { return {}; }
};

/// The answer to a request that was not carried out, with the reason.
struct Refused {
  std::string error;
};

/// The place at which a run has stopped, and the last chunk that was flushed. A window that shows
/// "stopped" waits for the chunk with this sequence number.
struct StopReport {
  std::string run_id;
  std::optional<Place> place;  ///< nullopt: the run is over
  std::uint64_t chunk_watermark = 0;
  std::int64_t run_clock_ns = 0;
  bool over = false;

  void put(nlohmann::json& object) const;
  static StopReport from(const Fields& fields);
};

struct StateReport {
  bool running = false, paused = false, over = false;
  std::optional<Place> place;
  std::string run_id;
  std::int64_t run_clock_ns = 0;
  std::uint64_t events = 0, dropped_events = 0;
  std::vector<std::string> failed_sinks;  ///< the message of each sink that failed

  void put(nlohmann::json& object) const;
  static StateReport from(const Fields& fields);
};

/// The training step from which on every rank runs with the change.
struct ChangedFrom {
  std::int32_t from_train_step = 0;

  void put(nlohmann::json& object) const;
  static ChangedFrom from(const Fields& fields);
};

/// A tensor that a paused run holds.
struct LiveTensorEntry {
  WorldRank rank;
  std::string tensor;
  Layer layer;        ///< none outside the decoder layers
  std::string place;  ///< description of the place where the rank last had the tensor
  std::string dtype;
  std::vector<std::int64_t> shape;

  void put(nlohmann::json& object) const;
  static LiveTensorEntry from(const Fields& fields);
};

struct TensorList {
  std::vector<LiveTensorEntry> tensors;

  void put(nlohmann::json& object) const;
  static TensorList from(const Fields& fields);
};

/// The elements [begin, end) of each dimension in row-major order.
struct TensorSlice {
  LiveTensorEntry of;
  std::vector<std::int64_t> begin, end;
  std::vector<double> values;

  void put(nlohmann::json& object) const;
  static TensorSlice from(const Fields& fields);
};

struct Resent {
  std::uint64_t sent = 0;  ///< number of chunks

  void put(nlohmann::json& object) const;
  static Resent from(const Fields& fields);
};

/// The answer of a rank process that has sent everything recorded before the request.
struct Flushed {
  std::uint64_t dropped_events = 0, dropped_tensors = 0;

  void put(nlohmann::json& object) const;
  static Flushed from(const Fields& fields);
};

using Answer = std::variant<Granted, Refused, StopReport, StateReport, ChangedFrom, TensorList,
                            TensorSlice, Resent, Flushed>;

}  // namespace ringscope::traces::control
