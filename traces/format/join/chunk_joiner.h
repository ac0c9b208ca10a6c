// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// Makes one recording out of those of one run's rank processes: chunks are numbered anew, tensor
/// ids are made unique, times are brought to one run clock, and a note that several ranks wrote
/// alike is kept once. Not thread-safe.
class ChunkJoiner {
 public:
  /// `take` gets every chunk of the joined recording, in its order.
  ChunkJoiner(int sources, std::function<void(const Chunk&)> take)
      : sources_(sources), take_(std::move(take)) {}

  /// A chunk of source 0 … sources − 1, in that source's order. `clock_shift_ns` is the joined run
  /// clock less the source's. Throws inputError on a chunk that is malformed.
  void add(int source, Chunk chunk, std::int64_t clock_shift_ns = 0);
  /// After the last: writes the end record over all sources. `now_ns`: of the joined run clock; no
  /// earlier than what the sources ended with.
  void finish(std::int64_t now_ns = 0);

  std::uint64_t lastSeq() const { return next_seq_ - 1; }
  std::uint64_t events() const { return events_; }

 private:
  void put(Chunk chunk);
  void putNotes(const Chunk& notes);
  bool isRepeated(const Chunk& chunk);
  std::uint64_t joinedId(int source, std::uint64_t id) const;

  int sources_;
  std::function<void(const Chunk&)> take_;
  std::map<std::string, std::string> notes_;  // what each key said last
  std::set<std::pair<ChunkKind, std::string>> said_once_;
  std::uint64_t next_seq_ = 1, events_ = 0;
  EndRecord end_{0, 0, 0, 0, noRows()};
};

}  // namespace ringscope::traces
