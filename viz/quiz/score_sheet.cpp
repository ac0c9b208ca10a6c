// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/quiz/score_sheet.h"

#include <algorithm>

#include "traces/format/core/output_file.h"

namespace ringscope::viz {
namespace {

/// Returns a field of a CSV line, in quotes where it needs them.
std::string csvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

std::string csvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ",") + csvField(field);
  return line + "\r\n";
}

}  // namespace

const char* QuizResult::word() const {
  return answer.empty() ? "no answer" : isRight() ? "right" : "wrong";
}

int QuizResult::points() const {
  constexpr int kPoints = 4;
  return (isRight() ? std::max(0, kPoints - hints) : 0) + (where_right == true ? 1 : 0);
}

void ScoreSheet::judgePlace(std::optional<bool> right) {
  if (!results_.empty()) results_.back().where_right = right;
}

int ScoreSheet::countRight() const {
  return static_cast<int>(std::ranges::count_if(results_, &QuizResult::isRight));
}

std::string ScoreSheet::toCsv() const {
  std::string csv =
      csvLine({"round", "seed", "strategy", "balance", "mask", "answer", "mistake", "result",
               "seconds", "evidence", "hints", "where", "where_result", "because", "points"});
  for (const QuizResult& result : results_) {
    std::string evidence;
    for (const std::string& line : result.evidence)
      evidence += (evidence.empty() ? "" : "; ") + line;
    csv += csvLine({std::to_string(result.round), std::to_string(result.seed), result.strategy,
                    result.balance, result.mask, result.answer, result.mistake, result.word(),
                    std::to_string(result.seconds), evidence, std::to_string(result.hints),
                    result.where,
                    !result.where_right   ? ""
                    : *result.where_right ? "right"
                                          : "wrong",
                    result.because, std::to_string(result.points())});
  }
  return csv;
}

void ScoreSheet::save(const std::string& path) const {
  traces::OutputFile file(path);
  file.stream() << toCsv();
  file.finish();
}

}  // namespace ringscope::viz
