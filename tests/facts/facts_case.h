// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine/train/train_config.h"
#include "tests/facts/numbers.h"
#include "tests/facts/plan_oracle.h"
#include "tests/support/files.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/format/trace/trace.h"

namespace ringscope::facts {

/// A run of a random configuration, as it was drawn and as it was recorded.
struct Case {
  bool train = false, verify = false;
  int dp = 1, tp = 1, cp = 1, layers = 1, steps = 1;
  std::string capture, mistake, text;
  traces::AskedMistake made;           ///< the mistake, with the places that were drawn for it
  std::string strategy, mask;          ///< as they were asked for
  bool stats = false, values = false;  ///< the recording has them, of step 0
  bool numbers_are_exact = true;       ///< nothing rounds q and k between the record and the use
  double tolerance = 1e-4;             ///< of a log-sum-exp, by the type
  bool out_is_plain = true;            ///< neither dropout nor a mistake is in it
  bool ignores_labels = false;         ///< some tokens have no target
  bool of_doctor = false;              ///< the mistake is one that only the doctor is asked about
  std::vector<bool> known_positions;   ///< from where they count is recorded, by step and dp
  std::vector<PlanOracle> oracles;     ///< by step and dp
  std::vector<int> positions;          ///< that tokens should have, by step, dp and token
  std::vector<int> tokens, labels;     ///< of the file: by step, dp, row of the batch and token
  std::vector<std::int64_t> peak_bytes;
  std::vector<engine::StepLog> logged;    ///< as the engine gave it back; of processes nothing
  std::optional<Numbers> given;           ///< of an attention
  std::shared_ptr<test::TempDir> folder;  ///< of the run's files
  std::shared_ptr<traces::Trace> trace;
  std::vector<traces::Chunk> chunks;  ///< that the trace was made of, as they were written
  int unpadded = 0;                   ///< tokens of an attention before it was padded

  int groups() const { return dp * tp; }
  const PlanOracle& oracle(int step, int group) const {
    return oracles[static_cast<std::size_t>(step * dp + group / tp)];
  }
  int worldRankFor(int group, int rank) const { return group * cp + rank; }
  /// Returns the index of a token of a sequence in `tokens` and `labels`.
  std::size_t at(int step, int group, int row, int token) const {
    const Plan& plan = oracles.front().plan();
    return static_cast<std::size_t>(((step * dp + group / tp) * plan.batch + row) * plan.length +
                                    token);
  }
  bool positionsKnown(int step, int group) const {
    return known_positions[static_cast<std::size_t>(step * dp + group / tp)];
  }
  /// q, k, v of one layer; nothing where they were not kept.
  std::optional<Numbers> numbers(int step, int layer, int group) const;
  int positionFor(int step, int group, int token) const {
    const int length = oracles.front().plan().length;
    return positions[static_cast<std::size_t>((step * dp + group / tp) * length + token)];
  }
};

/// Draws a configuration that can run and runs it over rank threads.
Case drawnCase(std::mt19937& random);

}  // namespace ringscope::facts
