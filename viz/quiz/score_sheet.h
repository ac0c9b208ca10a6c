// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringscope::viz {

/// The outcome of one round.
struct QuizResult {
  int round = 1;
  std::uint32_t seed = 0;
  std::string strategy, balance, mask;  ///< of the run
  std::string answer;                   ///< id of the chosen mistake; empty: no answer was given
  std::string mistake;                  ///< id of the injected mistake
  std::int64_t seconds = 0;             ///< from the start of the round to the answer
  std::vector<std::string> evidence;    ///< the pinned lines
  int hints = 0;                        ///< number of hints that were taken
  std::string where;                    ///< the named place; empty: none was named
  std::optional<bool> where_right;      ///< nullopt: the doctor has not judged the place
  std::string because;                  ///< the reason, in the learner's words

  bool isRight() const { return answer == mistake; }
  /// Returns the points: four for a right answer, one less per hint, and one for a right place.
  int points() const;
  /// "right", "wrong" or "no answer".
  const char* word() const;
  friend bool operator==(const QuizResult&, const QuizResult&) = default;
};

/// The results of a quiz, one per round that has ended.
class ScoreSheet {
 public:
  void add(QuizResult result) { results_.push_back(std::move(result)); }
  const std::vector<QuizResult>& results() const { return results_; }
  /// Records how the doctor judges the place of the last result.
  void judgePlace(std::optional<bool> right);
  /// Returns the number of right answers.
  int countRight() const;

  /// Returns a header line and one line per round, as RFC 4180 describes them.
  std::string toCsv() const;
  /// Writes toCsv() into a file. Throws inputError when the file cannot be written.
  void save(const std::string& path) const;

 private:
  std::vector<QuizResult> results_;
};

}  // namespace ringscope::viz
