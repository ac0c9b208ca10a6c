// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/exchange/lines/lines.h"

namespace ringscope::traces {

/// What ranks meet in, as one of them posted it: the nth operator of a process group, or the nth
/// message from one rank to another with a tag.
struct Post {
  std::string operation;  ///< "all_reduce", "send", "receive", …
  std::string group;
  std::int64_t nth = 0;  ///< from 1
  std::int64_t bytes = 0;
  WorldRank from, to;  ///< of a message; both none: it is a collective
  std::int64_t tag = 0;

  bool isMessage() const { return operation == "send" || operation == "receive"; }
};

/// How many a rank has posted of what belongs together, and the last of them.
struct Posted {
  std::string group, kind;  ///< kind: "send" or "receive"; empty: collectives of the group
  WorldRank from, to;
  std::int64_t tag = 0;
  std::int64_t nth = 0;
  struct One {
    std::int64_t nth = 0;
    std::string operation;
    std::int64_t bytes = 0;
  };
  std::vector<One> last;
};

/// Where a rank stands, as its line `stands` has it (traces/recorder/FORMAT.md, "Live").
struct Standing {
  std::int64_t quiet_ns = 0;  ///< since it did anything that is seen
  std::int32_t train_step = 0;
  std::optional<Post> in;  ///< what it waits in, or is posting
  std::int64_t in_ns = 0;  ///< for how long
  std::optional<Post> newest;
  std::vector<Posted> posted;
  std::map<std::string, std::vector<WorldRank>> members;  ///< world ranks by group
  std::string at;                                         ///< "train.py:41 (load)"; empty: not said

  /// A stranger's line: what is missing or out of range reads as not known.
  static Standing of(const Line& line);
  /// What it has posted of that to which `post` belongs, `kind` being its own side of a message.
  const Posted* of(const Post& post, const std::string& kind) const;
};

}  // namespace ringscope::traces
