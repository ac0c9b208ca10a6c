// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "engine/observe/capture_policy.h"
#include "tests/engine/hidden_mistakes.h"
#include "tests/engine/random_runs.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::engine {

using test::RandomRun;
using traces::Diagnosis;
using traces::Verdict;

/// Reports whether the recording keeps what the mistake's rule needs according to the catalogue.
inline bool isKept(const std::string& mistake, const traces::RunSpec& run) {
  const CapturePolicy capture = CapturePolicy::parse(run.capture);
  const auto needed = traces::findMistake(mistake)->capture;
  if (needed != traces::CaptureNeeded::kFull) return capture.keepsAnything();
  const bool of_gradients = traces::findMistake(mistake)->seams.front().starts_with("gradients.");
  const auto kind = of_gradients ? traces::TensorKind::kGradient : traces::TensorKind::kOut;
  for (std::int32_t step = 0; step < run.steps; ++step)
    if (capture.keep({kind}, {step}) == CapturePolicy::Keep::kValues)
      return run.command == traces::Command::kTrain || step == 0;
  return false;
}

inline Verdict findVerdict(const Diagnosis& diagnosis, const std::string& rule) {
  for (const auto& entry : diagnosis.entries)
    if (entry.rule == rule) return entry.result.verdict;
  throw usageError("there is no rule " + rule);
}

/// Returns whether the wrong run keeps what shows the mistake; then the mistake must be named
/// alone. If the recording keeps less or the mistake changes nothing, no other mistake may be
/// named, and a mistake with an effect must not be called clear.
inline bool expectNamedIn(const std::string& mistake, const RandomRun& run,
                          const traces::Trace& right, const traces::Trace& wrong) {
  const Diagnosis diagnosis = traces::diagnose(wrong);
  auto findings = diagnosis.findings();
  const bool seen = test::hidden(mistake, right, wrong).empty();
  // An error may show even when the recording cannot tell its name.
  if (findVerdict(diagnosis, mistake) == Verdict::kNotObservable || !seen)
    std::erase_if(findings, [&](const traces::Finding& finding) {
      return test::isEffect(mistake, finding.rule);
    });
  const bool changed = !test::sameValues(right, wrong) || !test::sameLogs(right, wrong),
             named = !findings.empty(), shown = changed && isKept(mistake, run.spec()) && seen;
  for (const traces::Finding& finding : findings) EXPECT_EQ(finding.rule, mistake);
  EXPECT_LE(findings.size(), 1u);
  if (!changed && test::sameDeeds(right, wrong)) {
    EXPECT_FALSE(named) << "it changes nothing";
  }
  if (changed && !named) {
    EXPECT_FALSE(shown) << traces::toText(diagnosis);
    EXPECT_TRUE(findVerdict(diagnosis, mistake) == Verdict::kNotObservable || !seen);
  }
  if (testing::Test::HasFailure()) std::printf("%s\n", traces::toText(diagnosis).c_str());
  return shown || testing::Test::HasFailure();
}

}  // namespace ringscope::engine
