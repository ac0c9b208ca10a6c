// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attend/attend.h"
#include "engine/train/training_run.h"
#include "tests/facts/facts_case.h"
#include "traces/format/recording/chunk_sink.h"

namespace ringscope::facts {

/// One attention of random tensors: every strategy, mask, layout and type, one to sixteen ranks.
Case drawnAttention(std::mt19937& random);
/// A few steps of training a small Llama on random tokens, over a random mesh.
Case drawnTraining(std::mt19937& random);
/// Either with a mistake in it that shows and that only the doctor is asked about.
Case drawnInjected(std::mt19937& random, const std::string& mistake);

/// A random attention before it runs: its settings and the plan that is asked for.
struct AttentionDraw {
  engine::AttendConfig config;
  Plan plan;
  int length = 0;
  double scale = 0.4;
  bool may_have_sinks = true;

  /// Returns the plan of the sequence as it is sharded. The sequence is padded to the length that
  /// the sharding needs, or cut to such a length when padding is off.
  Plan dealt() const;
};
AttentionDraw drawAttention(std::mt19937& random);
/// Runs the attention and returns the case. An empty name means that no mistake is injected.
Case recordedAttention(std::mt19937& random, AttentionDraw draw, const std::string& mistake);

Plan drawTrainingPlan(std::mt19937& random, engine::TrainConfig& config);
void drawTrainingType(std::mt19937& random, Case& c, engine::TrainConfig& config, Plan& plan);
/// Runs it over rank threads.
void recordOverThreads(Case& c, const engine::TrainConfig& config);
/// Draws tokens, runs it and keeps what was recorded.
void runDrawn(std::mt19937& random, Case& c, engine::TrainConfig& config, const Plan& plan,
              void (*record)(Case& c, const engine::TrainConfig& config) = recordOverThreads);

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
T pickOne(std::mt19937& random, const std::vector<T>& list) {
  return list[random() % list.size()];
}
/// Documents of random lengths, of all of the sequence or with padding between.
std::vector<Span> drawnDocuments(std::mt19937& random, int length, bool with_gaps);

}  // namespace ringscope::facts
