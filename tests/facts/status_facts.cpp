// SPDX-License-Identifier: Apache-2.0
// The words above and under the stage: what run is on show, how much of it there is, and what came
// of it.
#include <cmath>
#include <thread>

#include "tests/facts/scene_facts.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "viz/scene/groups.h"
#include "viz/scene/run_words.h"

namespace ringscope::facts {
namespace {

std::int64_t countOf(std::string digits) {
  std::erase(digits, ',');
  return std::stoll(digits);
}

/// "1 layer", "2 layers".
std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The multiple as it is said, within its rounding: "0.9", "8,400", "7.8 M".
void expectMultiple(const std::string& said, double multiple) {
  if (!std::isfinite(multiple)) {
    EXPECT_EQ(said, "∞");
    return;
  }
  std::string digits = said;
  std::erase(digits, ',');
  if (digits.find('e') != std::string::npos) {
    EXPECT_NEAR(std::stod(digits) / multiple, 1, 0.051) << said;
    return;
  }
  const double unit = digits.ends_with(" M") ? 1e6 : digits.ends_with(" k") ? 1e3 : 1;
  const bool tenths = digits.find('.') != std::string::npos;
  EXPECT_NEAR(std::stod(digits) * unit, multiple, (tenths ? 0.051 : 0.51) * unit) << said;
}

/// The worst of all comparisons, and one of those that are as bad.
void expectWorst(const Case& c, const std::string& said) {
  if (!c.verify) {
    EXPECT_EQ(said, "not compared with unsharded attention");
    return;
  }
  std::smatch words;
  ASSERT_TRUE(
      std::regex_match(said, words, std::regex("(▲ )?worst of the run (.*)× limit \\((.*)\\)")))
      << said;
  double most = 0;
  for (const auto& diff : c.trace->diffs())
    most = std::max(
        most, std::isfinite(diff.ratio) ? diff.ratio : std::numeric_limits<double>::infinity());
  EXPECT_EQ(words[1].matched, most > 1);
  expectMultiple(words[2], most);
  bool there = false;
  for (const auto& diff : c.trace->diffs()) {
    const std::string layer =
        diff.place.layer.exists() ? "layer " + toString(diff.place.layer) + ", " : "";
    const bool as_bad = std::isfinite(most) ? diff.ratio == most : !std::isfinite(diff.ratio);
    there = there || (as_bad && words[3] == layer + diff.tensor);
  }
  EXPECT_TRUE(there) << said;
}

void expectHeadline(const Case& c) {
  const Plan& plan = c.oracles.front().plan();
  const std::string says = viz::runHeadline(*c.trace, false);
  constexpr const char* kDealings[] = {"none", "head_tail", "striped", "per_document"};
  const int tokens = c.mistake == "uneven_shards" ? c.unpadded : plan.length;
  const std::string facts = counted(c.layers, "layer") + " · " + counted(tokens, "token") + " · " +
                            counted(c.groups() * c.cp, "rank") + " · " + c.strategy + ", " +
                            kDealings[static_cast<int>(plan.dealing)] + ", " + c.mask;
  EXPECT_TRUE(says.ends_with(", " + facts)) << says << " should end with " << facts;
  EXPECT_EQ(says.find("attention, ") == 0, !c.train) << says;
}

}  // namespace

void expectStatus(const Case& c) {
  expectHeadline(c);
  traces::WorstDiffs worst;
  worst.update(*c.trace);
  const std::optional<traces::Diagnosis> diagnosis = traces::diagnose(*c.trace);
  const std::string says = viz::runStatus(*c.trace, {worst, diagnosis, std::nullopt});
  SCOPED_TRACE(says);
  std::smatch words;
  ASSERT_TRUE(std::regex_match(
      says, words,
      std::regex("recorded · (\\d+) ranks?(?: on (\\d+) cores? \\(virtual: overlap is the "
                 "scheduler’s\\))? · ([\\d,]+) events? · 0 dropped · ([^·]*)(?: · (\\d+) "
                 "findings?)?")));
  const int ranks = c.groups() * c.cp;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_EQ(std::stoi(words[1]), ranks);
  EXPECT_EQ(words[2].matched, ranks > cores);
  if (words[2].matched) {
    EXPECT_EQ(std::stoi(words[2]), cores);
  }
  std::int64_t events = 0;
  for (int rank = 0; rank < ranks; ++rank)
    events += std::ssize(c.trace->events(traces::WorldRank::of(rank)));
  EXPECT_EQ(countOf(words[3]), events);
  expectWorst(c, words[4]);
  EXPECT_EQ(words[5].matched ? std::stoll(words[5]) : 0, std::ssize(diagnosis->findings()));
}

void expectGroups(const Case& c) {
  const auto groups = viz::listGroups(*c.trace);
  ASSERT_EQ(std::ssize(groups), c.groups());
  for (int group = 0; group < c.groups(); ++group) {
    std::set<int> ranks;
    for (int rank = 0; rank < c.cp; ++rank) ranks.insert(c.worldRankFor(group, rank));
    const auto& says = groups[static_cast<std::size_t>(group)];
    EXPECT_EQ(numbersIn(says.name), ranks) << says.name;
    EXPECT_EQ(says.name.starts_with("ranks "), c.cp > 1) << says.name;
  }
}

}  // namespace ringscope::facts
