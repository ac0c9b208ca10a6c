// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/control/requests.h"

/// The messages that a run sends over the control connection.
namespace ringscope::traces::control {

/// The answer to one request: {"reply": cmd, "id": N, "ok": true | false, …}.
struct Reply {
  std::string cmd;
  std::optional<std::int64_t> id;  ///< nullopt: the request had no id
  Answer answer;

  const Refused* refused() const { return std::get_if<Refused>(&answer); }
};

/// The first message: {"hello": {…}}.
struct EngineHello {
  int control = kControlVersion, format = 0;  ///< versions of the control connection and of the
                                              ///< trace format
  std::string run_id;
  std::vector<std::string> capabilities;
};

/// The ranks that have not reached their gate since a pause or step was requested, with the last
/// gate of each: {"waiting": cmd, "id": N, "for": [{"rank", "place"}]}.
struct Waiting {
  std::string cmd;
  std::optional<std::int64_t> id;
  struct Rank {
    WorldRank rank;
    Place place;
  };
  std::vector<Rank> late;
};

/// The message that the run has stopped by itself: {"stopped": "break", …}.
struct StoppedByBreak {
  StopReport report;
};

/// The last message: {"end": {…}}. `reason` is empty when the run ended well.
struct End {
  std::string run_id;
  bool stopped = false;
  std::string reason;
};

/// An error that answers no request: {"error": sentence}.
struct Failure {
  std::string error;
};

using Message = std::variant<Reply, EngineHello, Waiting, StoppedByBreak, End, Failure>;

/// Returns a message as a frame.
Bytes encodeMessage(const Message& message);
/// Parses a message. Throws inputError that says what is wrong with it.
Message decodeMessage(const nlohmann::json& message);

}  // namespace ringscope::traces::control
