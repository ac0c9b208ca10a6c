// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "tests/engine/injected_runs.h"
#include "tests/engine/small_model.h"
#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::test {

/// An endless series of random runs in which several mistakes are tried. Each mistake uses the runs
/// in which it can have an effect, in this order. The recording of a run without a mistake is made
/// once for all mistakes.
class SharedRuns {
 public:
  /// Creates a series. The same two numbers always give the same series.
  SharedRuns(unsigned seed, unsigned row) : seed_(seed), row_(row) {}

  const RandomRun& run(std::size_t number) { return at(number).run; }
  /// Returns the recording without a mistake, in which nothing may be found.
  std::shared_ptr<traces::Trace> right(std::size_t number) {
    Shared& shared = at(number);
    if (!shared.right) shared.right = correctTrace(shared.run);
    return shared.right;
  }
  static std::shared_ptr<traces::Trace> correctTrace(const RandomRun& run) {
    auto right = run.recordInMemory();
    const traces::Diagnosis diagnosis = traces::diagnose(*right);
    EXPECT_TRUE(diagnosis.findings().empty()) << "without it: " << traces::toText(diagnosis);
    return right;
  }

 private:
  struct Shared {
    RandomRun run;
    std::shared_ptr<traces::Trace> right;  ///< null until it is first needed
  };

  static RandomRun drawn(std::mt19937& random) {
    if (random() % 2) return RandomRun::ofAttention(random);
    RandomRun run = RandomRun::ofTraining(random);
    if (random() % 4) takeSmallModel(run.training);
    return run;
  }
  Shared& at(std::size_t number) {
    while (runs_.size() <= number) {
      std::seed_seq all{seed_, row_, static_cast<unsigned>(runs_.size())};
      std::mt19937 random(all);
      runs_.push_back({drawn(random), nullptr});
    }
    return runs_[number];
  }

  unsigned seed_, row_;
  std::deque<Shared> runs_;
};

}  // namespace ringscope::test
