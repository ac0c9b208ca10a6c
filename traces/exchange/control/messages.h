// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/control/requests.h"

/// What a run says over the control connection.
namespace ringscope::traces::control {

/// {"reply": cmd, "id": N, "ok": true | false, …}: the answer to one request.
struct Reply {
  std::string cmd;
  std::optional<std::int64_t> id;  ///< nothing: the request had none
  Answer answer;

  const Refused* refused() const { return std::get_if<Refused>(&answer); }
};

/// {"hello": {…}}: the first message.
struct EngineHello {
  int control = kControlVersion, format = 0;  ///< versions
  std::string run_id;
  std::vector<std::string> capabilities;
};

/// {"waiting": cmd, "id": N, "for": [{"rank", "place"}]}: which ranks have not come to their gate
/// since a pause or step was asked for, and the last gate of each.
struct Waiting {
  std::string cmd;
  std::optional<std::int64_t> id;
  struct Rank {
    WorldRank rank;
    Place place;
  };
  std::vector<Rank> late;
};

/// {"stopped": "break", …}: the run has stopped by itself.
struct StoppedByBreak {
  StopReport report;
};

/// {"end": {…}}: the last message. `reason` is empty when the run ended well.
struct End {
  std::string run_id;
  bool stopped = false;
  std::string reason;
};

/// {"error": sentence}: something that answers no request.
struct Failure {
  std::string error;
};

using Message = std::variant<Reply, EngineHello, Waiting, StoppedByBreak, End, Failure>;

/// As a frame.
Bytes encodeMessage(const Message& message);
/// Throws inputError that says what is wrong with it.
Message decodeMessage(const nlohmann::json& message);

}  // namespace ringscope::traces::control
