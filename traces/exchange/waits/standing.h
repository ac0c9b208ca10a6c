// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/exchange/lines/lines.h"

namespace ringscope::traces {

/// A meeting point of ranks, as one of them posted it: the nth operator of a process group, or the
/// nth message from one rank to another with a tag.
struct Post {
  std::string operation;  ///< "all_reduce", "send", "receive", …
  std::string group;
  std::int64_t nth = 0;  ///< 1 and above
  std::int64_t bytes = 0;
  WorldRank from, to;  ///< ends of a message; both none for a collective
  std::int64_t tag = 0;

  bool isMessage() const { return operation == "send" || operation == "receive"; }
};

/// The number of posts of one kind by a rank, and the last of them.
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

/// The current position of a rank, from its line `stands` (traces/recorder/FORMAT.md, "Live").
struct Standing {
  std::int64_t quiet_ns = 0;  ///< time since its last visible activity
  std::int32_t train_step = 0;
  std::optional<Post> in;  ///< the post in which it waits, or which it is making
  std::int64_t in_ns = 0;  ///< duration of that wait
  std::optional<Post> newest;
  std::vector<Posted> posted;
  std::map<std::string, std::vector<WorldRank>> members;  ///< world ranks by group
  std::string at;                                         ///< "train.py:41 (load)"; empty: unknown
  bool broken = false;                                    ///< the wait ended in an error

  /// Reads an untrusted line. A missing field and one out of range read as unknown.
  static Standing of(const Line& line);
  /// Returns what the rank has posted of the same kind as `post`. `kind` is the rank's own side of
  /// a message.
  const Posted* of(const Post& post, const std::string& kind) const;
};

}  // namespace ringscope::traces
