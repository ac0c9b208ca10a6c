// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/train/training_run.h"
#include "tests/facts/facts_case.h"
#include "traces/recording/chunk_sink.h"

namespace ringscope::facts {

/// One attention of random tensors: every strategy, mask, layout and type, one to sixteen ranks.
Case drawnAttention(std::mt19937& random);
/// A few steps of training a small Llama on random tokens, over a random mesh.
Case drawnTraining(std::mt19937& random);
/// The same with a mistake in it that shows and that only the doctor is asked about.
Case drawnInjected(std::mt19937& random, const std::string& mistake);

/// The same over a process a rank, whose recordings are joined in one file.
Case drawnProcesses(std::mt19937& random);
/// Runs `ringscope train --launch processes`. Throws std::runtime_error with what it says when it
/// fails.
void recordOverProcesses(Case& c, const engine::TrainConfig& config);

/// Makes the recording the case's trace, and keeps its chunks.
class KeepingSink : public traces::ChunkSink {
 public:
  explicit KeepingSink(Case& c) : case_(c) {}
  void write(const traces::Chunk& chunk) override {
    case_.trace->add(chunk);
    case_.chunks.push_back(chunk);
  }
  void flush() override {}
  void close() override {}

 private:
  Case& case_;
};

/// A number from `least` to `most`.
inline int drawn(std::mt19937& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}
template <typename T>
T oneOf(std::mt19937& random, const std::vector<T>& list) {
  return list[random() % list.size()];
}
/// Documents of random lengths, of all of the sequence or with padding between.
std::vector<Span> drawnDocuments(std::mt19937& random, int length, bool with_gaps);

}  // namespace ringscope::facts
