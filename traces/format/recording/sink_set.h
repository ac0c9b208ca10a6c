// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "traces/format/recording/chunk_sink.h"

namespace ringscope::traces {

/// The sinks of one recording. One that throws is done without from then on, and its sentence is
/// remembered: neither a full disk nor memory that is refused ends a run. Not thread-safe.
class SinkSet {
 public:
  explicit SinkSet(std::vector<std::unique_ptr<ChunkSink>> sinks) : sinks_(std::move(sinks)) {}

  void write(const Chunk& chunk);
  void flush();
  void close();
  /// Does without all of them from now on: what should have been written to them is lost.
  void giveUp(const std::string& sentence);
  /// What sinks have failed of since this was last called.
  std::vector<std::string> takeFailures();

 private:
  void each(const std::function<void(ChunkSink&)>& call);

  std::vector<std::unique_ptr<ChunkSink>> sinks_;
  std::vector<std::string> failures_;
};

}  // namespace ringscope::traces
