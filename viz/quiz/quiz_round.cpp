// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/quiz/quiz_round.h"

#include <algorithm>
#include <random>
#include <set>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/run_with_mistakes.h"
#include "traces/plan/balance.h"
#include "traces/plan/strategy.h"
#include "traces/plan/strategy_choices.h"

namespace ringscope::viz {
namespace {

using traces::Mistake;
using traces::RunSpec;

constexpr std::size_t kAnswers = 6, kOfOneSubject = 3;
/// A lost hop holds its ranks forever, so its round would have no end.
constexpr const char* kWithoutEnd = "dropped_hop";

/// Draws numbers. The distributions of the standard library differ between machines.
class Dice {
 public:
  Dice(std::uint32_t seed, std::uint32_t round) {
    std::seed_seq both{seed, round};
    numbers_.seed(both);
  }
  std::size_t below(std::size_t count) { return numbers_() % count; }
  template <typename Value>
  void shuffle(std::vector<Value>& values) {
    for (std::size_t left = values.size(); left > 1; --left)
      std::swap(values[left - 1], values[below(left)]);
  }

 private:
  std::mt19937 numbers_;
};

/// Returns the runs among which a round draws. The plain ring comes twice as often as the others.
std::vector<RunSpec> offeredRuns(RunSpec base) {
  base.steps = 2;
  base.capture = "full";
  base.verify = false;
  base.balance = traces::defaultCausalBalance();
  RunSpec documents = base, window = base;
  documents.mask = traces::MaskKind::kDocuments;
  documents.separator = "\n\n";
  window.mask = traces::MaskKind::kWindow;
  window.window = 24;
  window.sinks = true;
  std::vector<RunSpec> runs{base, documents, window};
  for (const RunSpec& choice : traces::strategyChoices(base))
    if (choice.rotate == base.rotate && !traces::choosesUlyssesSize(choice.strategy))
      runs.push_back(choice);
  return runs;
}

/// Reports whether settings alone decide that the mistake changes the run's numbers.
bool alwaysShows(const Mistake& mistake, const RunSpec& run) {
  const bool by_targets = mistake.first_seen_in == traces::FirstSeenIn::kTargets;
  const bool by_pairs = mistake.first_seen_in == traces::FirstSeenIn::kPairs;
  return mistake.when_unseen.empty() && mistake.id != kWithoutEnd &&
         (!by_targets || run.mask == traces::MaskKind::kDocuments) &&  // which end unevenly
         (!by_pairs || run.mask != traces::MaskKind::kWindow);         // it hides many pairs anyway
}

bool canBeMade(const Mistake& mistake, const RunSpec& run) {
  const traces::AskedMistake asked{mistake.id, {}, {}, {}, {}};
  return mistake.injectable && alwaysShows(mistake, run) && !traces::reasonAgainst(run, asked) &&
         !traces::refusal(run, {asked});
}

/// Chooses answers that are plausible: some share the subject of the mistake, and none has an
/// effect that this mistake has too.
std::vector<std::string> drawAnswers(const std::string& id, const RunSpec& run, Dice& dice) {
  const Mistake& mistake = *traces::findMistake(id);
  std::vector<std::string> near, far;
  for (const std::string& other : quizMistakes(run)) {
    if (other == id || std::ranges::count(mistake.also_trips, other) > 0) continue;
    (traces::findMistake(other)->subject == mistake.subject ? near : far).push_back(other);
  }
  dice.shuffle(near);
  dice.shuffle(far);
  std::vector<std::string> answers{id};
  for (const std::string& other : near)
    if (answers.size() <= kOfOneSubject) answers.push_back(other);
  for (const std::string& other : far)
    if (answers.size() < kAnswers) answers.push_back(other);
  dice.shuffle(answers);
  return answers;
}

}  // namespace

std::vector<std::string> quizMistakes(const RunSpec& run) {
  std::vector<std::string> ids;
  for (const Mistake& mistake : traces::mistakeCatalogue())
    if (canBeMade(mistake, run)) ids.push_back(mistake.id);
  return ids;
}

std::vector<QuizRound> drawRounds(const RunSpec& base, std::uint32_t seed, int count) {
  const std::vector<RunSpec> runs = offeredRuns(base);
  std::vector<QuizRound> rounds;
  std::set<std::string> had;
  for (int number = 1; number <= count; ++number) {
    Dice dice(seed, static_cast<std::uint32_t>(number));
    QuizRound round{number, runs[dice.below(runs.size())], {}, {}};
    std::vector<std::string> all = quizMistakes(round.run), fresh;
    std::ranges::copy_if(all, std::back_inserter(fresh),
                         [&](const std::string& id) { return !had.contains(id); });
    const std::vector<std::string>& from = fresh.empty() ? all : fresh;
    round.mistake = from[dice.below(from.size())];
    round.answers = drawAnswers(round.mistake, round.run, dice);
    had.insert(round.mistake);
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace ringscope::viz
