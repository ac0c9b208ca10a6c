// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "traces/format/recording/chunk_sink.h"

namespace ringscope::traces {

/// The sinks of one recording. A sink that throws is not used again, and its message is kept:
/// neither a full disk nor refused memory ends a run. Not thread-safe.
class SinkSet {
 public:
  explicit SinkSet(std::vector<std::unique_ptr<ChunkSink>> sinks) : sinks_(std::move(sinks)) {}

  void write(const Chunk& chunk);
  void flush();
  void close();
  /// Stops using all sinks. Everything not yet written to them is lost.
  void giveUp(const std::string& sentence);
  /// Returns the messages of the sinks that failed since the last call.
  std::vector<std::string> takeFailures();

 private:
  void each(const std::function<void(ChunkSink&)>& call);

  std::vector<std::unique_ptr<ChunkSink>> sinks_;
  std::vector<std::string> failures_;
};

}  // namespace ringscope::traces
