// SPDX-License-Identifier: Apache-2.0
#include "traces/format/recording/sink_set.h"

#include <utility>

#include "traces/format/core/sentence_of.h"

namespace ringscope::traces {

void SinkSet::each(const std::function<void(ChunkSink&)>& call) {
  for (auto& sink : sinks_) {
    if (!sink) continue;
    try {
      call(*sink);
    } catch (const std::exception& error) {
      sink.reset();
      failures_.emplace_back(toSentence(error));
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

void SinkSet::giveUp(const std::string& sentence) {
  for (auto& sink : sinks_) {
    if (!sink) continue;
    sink.reset();
    failures_.push_back(sentence);
  }
}

std::vector<std::string> SinkSet::takeFailures() {
  return std::exchange(failures_, {});
}

}  // namespace ringscope::traces
