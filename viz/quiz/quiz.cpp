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
              .evidence = evidence_,
              .hints = static_cast<int>(hints_),
              .where = where_.describe(),
              .where_right = {},
              .because = because_});
}

std::vector<std::string> Quiz::hints() const {
  std::vector<std::string> hints = quizHints(round().mistake);
  hints.resize(hints_);
  return hints;
}

bool Quiz::hasMoreHints() const {
  return !isAnswered() && hints_ < quizHints(round().mistake).size();
}

void Quiz::takeHint() {
  if (hasMoreHints()) ++hints_;
}

void Quiz::explain(const NamedPlace& where, const std::string& because) {
  if (isAnswered()) return;
  where_ = where;
  because_ = because;
}

void Quiz::judgePlace(const traces::Diagnosis& diagnosis) {
  if (isSealed() || place_judged_) return;
  place_judged_ = true;
  sheet_.judgePlace(isPlaceRight(where_, round().mistake, diagnosis));
}

void Quiz::reveal() {
  if (isAnswered()) state_ = State::kRevealed;
}

void Quiz::next() {
  if (isSealed() || isLast()) return;
  ++at_;
  state_ = State::kAsked;
  evidence_.clear();
  hints_ = 0;
  where_ = {};
  place_judged_ = false;
  because_.clear();
}

}  // namespace ringscope::viz
