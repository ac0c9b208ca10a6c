// SPDX-License-Identifier: Apache-2.0
#include "traces/recording/sink_set.h"

#include <utility>

#include "traces/core/error.h"

namespace ringscope::traces {

void SinkSet::each(const std::function<void(ChunkSink&)>& call) {
  for (auto& sink : sinks_) {
    if (!sink) continue;
    try {
      call(*sink);
    } catch (const Error& error) {
      sink.reset();
      failures_.emplace_back(error.what());
    }
  }
}

void SinkSet::write(const Chunk& chunk) {
  each([&](ChunkSink& sink) { sink.write(chunk); });
}

void SinkSet::flush() {
  each([](ChunkSink& sink) { sink.flush(); });
}

void SinkSet::close() {
  each([](ChunkSink& sink) { sink.close(); });
}

std::vector<std::string> SinkSet::takeFailures() {
  return std::exchange(failures_, {});
}

}  // namespace ringscope::traces
