// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// A joiner of the recordings of one run's rank processes. It renumbers chunks, makes tensor ids
/// unique, converts times to one run clock, and keeps one copy of a note that several ranks wrote
/// alike. Not thread-safe.
class ChunkJoiner {
 public:
  /// Passes every chunk of the joined recording to `take`, in order.
  ChunkJoiner(int sources, std::function<void(const Chunk&)> take)
      : sources_(sources), take_(std::move(take)) {}

  /// Adds a chunk of source 0 … sources − 1, in that source's order. `clock_shift_ns` is the joined
  /// run clock minus the source's. Throws inputError when the chunk is malformed.
  void add(int source, Chunk chunk, std::int64_t clock_shift_ns = 0);
  /// Writes the end record over all sources. Call it after the last add(). `now_ns` is a time of
  /// the joined run clock; the end record uses the sources' latest end if that is later.
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
  std::map<std::string, std::string> notes_;  // the latest JSON per key
  std::set<std::pair<ChunkKind, std::string>> said_once_;
  std::uint64_t next_seq_ = 1, events_ = 0;
  EndRecord end_{0, 0, 0, 0, noRows()};
};

}  // namespace ringscope::traces
