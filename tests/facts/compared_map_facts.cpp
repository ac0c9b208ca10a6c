// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/compared_map_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/facts/compared_rows.h"
#include "viz/scene/compared_map.h"

namespace ringscope::facts {
namespace {

using traces::DifferenceMap;
using traces::RowDifference;

RowKey keyOf(const DifferenceMap& map, std::size_t row) {
  const auto& line = map.lines[row / map.tokens.size()];
  return {static_cast<int>(line.sequence), static_cast<int>(line.head.value_or(-1)),
          static_cast<int>(map.tokens[row % map.tokens.size()].value())};
}

bool isNear(double said, double meant) {
  return said == meant || std::abs(said - meant) <= 1e-9 * std::abs(meant);
}

bool isSame(double said, double meant) {
  return said == meant || (std::isnan(said) && std::isnan(meant));
}

/// The number that it names is one of those that differ most.
void expectElement(const RowDifference& said, const Row& ours, const Row& theirs) {
  const auto at = static_cast<std::size_t>(said.element);
  ASSERT_LT(at, ours.numbers.size());
  EXPECT_TRUE(isSame(said.a, ours.numbers[at]));
  EXPECT_TRUE(isSame(said.b, theirs.numbers[at]));
  const auto apart = [&](std::size_t i) {
    return distance({{ours.numbers[i]}, 0}, {{theirs.numbers[i]}, 0});
  };
  for (std::size_t i = 0; i < ours.numbers.size(); ++i) EXPECT_LE(apart(i), apart(at));
}

void expectRow(const RowDifference& said, const Row* ours, const Row* theirs) {
  EXPECT_EQ(said.rank.value(), ours ? ours->world : -1);
  EXPECT_EQ(said.other.value(), theirs ? theirs->world : -1);
  if (!ours || !theirs) return;
  const double meant = distance(*ours, *theirs);
  EXPECT_TRUE(isNear(said.difference, meant)) << said.difference << ", meant is " << meant;
  expectElement(said, *ours, *theirs);
}

/// A point of a picture shows the largest of what falls on it.
void expectFold(const DifferenceMap& map, std::size_t columns, std::size_t lines) {
  const viz::FoldedMap picture = viz::folded(map, columns, lines);
  std::vector<double> most(picture.worst.size(), -1);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    // The point whose stretch of rows this one is in, searched from the left.
    const auto point_of = [](std::size_t at, std::size_t points, std::size_t all) {
      std::size_t point = 0;
      while ((point + 1) * all / points <= at) ++point;
      return point;
    };
    const std::size_t at =
        point_of(row / map.tokens.size(), picture.lines, map.lines.size()) * picture.columns +
        point_of(row % map.tokens.size(), picture.columns, map.tokens.size());
    if (map.rows[row].compared()) most[at] = std::max(most[at], map.rows[row].difference);
  }
  for (std::size_t at = 0; at < most.size(); ++at) {
    const RowDifference& shown = map.rows[picture.worst[at]];
    EXPECT_EQ(shown.compared() ? shown.difference : -1, most[at]) << "at point " << at;
  }
}

}  // namespace

void expectMap(const Case& run, const Case& other, const traces::Place& place,
               const std::string& tensor) {
  const Rows ours = rowsFor(run, place, tensor), theirs = rowsFor(other, place, tensor);
  const DifferenceMap map = traces::differenceMap(*run.trace, *other.trace, place, tensor);
  if (ours.begin()->second.numbers.size() != theirs.begin()->second.numbers.size()) {
    EXPECT_TRUE(map.rows.empty());
    EXPECT_FALSE(map.other_missing.empty()) << "and it says why";
    return;
  }
  std::set<RowKey> known;
  double squares = 0;
  std::int64_t compared = 0;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    const RowKey key = keyOf(map, row);
    SCOPED_TRACE("head " + std::to_string(key.head) + ", token " + std::to_string(key.token));
    EXPECT_TRUE(known.insert(key).second) << "it is there twice";
    const auto a = ours.find(key), b = theirs.find(key);
    expectRow(map.rows[row], a == ours.end() ? nullptr : &a->second,
              b == theirs.end() ? nullptr : &b->second);
    if (testing::Test::HasFailure()) return;
    if (a == ours.end() || b == theirs.end()) continue;
    ++compared;
    for (const double y : b->second.numbers) squares += std::isfinite(y) ? y * y : 0;
  }
  for (const Rows* rows : {&ours, &theirs})
    for (const auto& [key, row] : *rows) EXPECT_TRUE(known.contains(key)) << "a row is left out";
  if (compared == 0) return;
  EXPECT_TRUE(isNear(map.size, std::sqrt(squares / static_cast<double>(compared))));
  for (const std::size_t columns : {std::size_t{1}, std::size_t{7}, map.tokens.size()})
    for (const std::size_t lines : {std::size_t{1}, std::size_t{3}})
      expectFold(map, columns, lines);
}

}  // namespace ringscope::facts
