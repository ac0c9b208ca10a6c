// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/quiz/quiz.h"

#include <algorithm>

#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::viz {

Quiz::Quiz(const traces::RunSpec& base, std::uint32_t seed, int rounds)
    : seed_(seed), rounds_(drawRounds(base, seed, rounds)) {
  if (rounds_.empty()) throw usageError("a quiz needs at least one round");
}

void Quiz::pin(const std::string& evidence) {
  if (isAnswered() || std::ranges::count(evidence_, evidence) > 0) return;
  evidence_.push_back(evidence);
}

void Quiz::answer(const std::string& mistake, std::int64_t seconds) {
  if (isAnswered()) return;
  if (std::ranges::count(round().answers, mistake) == 0)
    throw usageError("'" + mistake + "' is no answer of this round");
  note(mistake, seconds);
}

void Quiz::skip(std::int64_t seconds) {
  if (!isAnswered()) note({}, seconds);
}

void Quiz::note(const std::string& answer, std::int64_t seconds) {
  state_ = State::kAnswered;
  const traces::RunSpec& run = round().run;
  sheet_.add({.round = round().number,
              .seed = seed_,
              .strategy = name(run.strategy),
              .balance = name(traces::chosenBalance(run)),
              .mask = name(run.mask),
              .answer = answer,
              .mistake = round().mistake,
              .seconds = seconds,
              .evidence = evidence_});
}

void Quiz::reveal() {
  if (isAnswered()) state_ = State::kRevealed;
}

void Quiz::next() {
  if (isSealed() || isLast()) return;
  ++at_;
  state_ = State::kAsked;
  evidence_.clear();
}

}  // namespace ringscope::viz
