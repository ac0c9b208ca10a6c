// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/quiz/quiz_hints.h"
#include "viz/quiz/quiz_round.h"
#include "viz/quiz/score_sheet.h"

namespace ringscope::viz {

/// A quiz that is under way: the rounds of a seed, the evidence and the answer of the current
/// round, and the score sheet. A round is sealed until it has an answer and is revealed.
class Quiz {
 public:
  /// Throws usageError without a round.
  Quiz(const traces::RunSpec& base, std::uint32_t seed, int rounds);

  std::uint32_t seed() const { return seed_; }
  int count() const { return static_cast<int>(rounds_.size()); }
  const QuizRound& round() const { return rounds_[at_]; }
  bool isSealed() const { return state_ != State::kRevealed; }
  bool isAnswered() const { return state_ != State::kAsked; }
  bool isLast() const { return at_ + 1 == rounds_.size(); }

  /// Adds a line of evidence. A line that is there already, or that comes after the answer, is
  /// dropped.
  void pin(const std::string& evidence);
  const std::vector<std::string>& evidence() const { return evidence_; }

  /// Returns the hints of the round that were taken.
  std::vector<std::string> hints() const;
  bool hasMoreHints() const;
  /// Takes the next hint, which costs a point. Does nothing after the answer or the last hint.
  void takeHint();

  /// Sets the place and the reason that go with the answer. Does nothing after the answer.
  void explain(const NamedPlace& where, const std::string& because);
  bool isPlaceJudged() const { return place_judged_; }
  /// Judges the named place by the doctor's evidence, once the round is revealed.
  void judgePlace(const traces::Diagnosis& diagnosis);

  /// Takes the answer, once per round. Throws usageError for a mistake that is not in the list.
  void answer(const std::string& mistake, std::int64_t seconds);
  /// Leaves the round without an answer, if it has none.
  void skip(std::int64_t seconds);
  /// Opens the seal of a round that has ended.
  void reveal();
  /// Goes to the next round. The current one must be revealed, and must not be the last.
  void next();

  const ScoreSheet& sheet() const { return sheet_; }

 private:
  enum class State { kAsked, kAnswered, kRevealed };
  void note(const std::string& answer, std::int64_t seconds);

  std::uint32_t seed_;
  std::vector<QuizRound> rounds_;
  std::size_t at_ = 0;
  State state_ = State::kAsked;
  std::vector<std::string> evidence_;
  std::size_t hints_ = 0;
  NamedPlace where_;
  bool place_judged_ = false;
  std::string because_;
  ScoreSheet sheet_;
};

}  // namespace ringscope::viz
