// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/engine/hidden_mistakes.h"
#include "tests/engine/random_runs.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/run_with_mistakes.h"

// Tests whether a mistake changes a recorded fact of a run, or is rejected with the setting that
// shows it.
namespace ringscope::test {

/// The result of a run: its recording, or the error with which it was rejected or failed.
struct RunResult {
  std::shared_ptr<traces::Trace> trace;
  std::optional<Error> error;

  bool refused() const { return error && error->code() == ErrorCode::kUsage; }
};

inline RunResult resultFor(const RandomRun& run, const std::string& mistake) {
  try {
    return {run.recordInMemory(mistake), {}};
  } catch (const Error& error) {
    return {nullptr, error};
  }
}

/// Reports whether values, logged numbers, attended pairs, messages and bytes are equal. A failed
/// run differs from any other.
inline bool sameFacts(const RunResult& a, const RunResult& b) {
  if (!a.trace || !b.trace) return false;
  return sameValues(*a.trace, *b.trace) && sameLogs(*a.trace, *b.trace) &&
         sameDeeds(*a.trace, *b.trace);
}

/// Reports whether the run says at its end that the mistake changed nothing.
inline bool saysUnseen(const RunResult& result) {
  return result.trace && result.trace->note(traces::kUnseenMistakesNote) == 1;
}

/// Expects an error of the form "--mistake ID… changes nothing …; use …".
inline void expectThreeParts(const std::string& mistake, const Error& error) {
  const std::string text = error.what();
  EXPECT_EQ(text.rfind("--mistake " + traces::AskedMistake::parse(mistake).id, 0), 0u) << text;
  EXPECT_NE(text.find("; use "), std::string::npos) << text;
}

/// Changes the settings that the mistake needs. Returns false when no setting of the run meets a
/// need.
inline bool meetNeeds(traces::RunSpec& run, const std::string& mistake) {
  const auto asked = traces::AskedMistake::parse(mistake);
  const auto& needs = traces::findMistake(asked.id)->needs;
  for (std::size_t tries = 0; tries <= needs.size(); ++tries)
    for (const traces::Need* need : needs) {
      if (need->is_met(run, asked)) continue;
      if (!need->meet) return false;
      need->meet(run);
    }
  return std::ranges::all_of(needs,
                             [&](const traces::Need* need) { return need->is_met(run, asked); });
}

}  // namespace ringscope::test
