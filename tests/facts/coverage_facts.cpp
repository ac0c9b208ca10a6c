// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/facts/scene_facts.h"
#include "viz/views/coverage/coverage_scene.h"

namespace ringscope::facts {
namespace {

/// The plan's numbers for one pair of chunks at a ring step.
struct Cell {
  std::int64_t wanted = 0, attended = 0;
  int last_step = -1;
  bool now = false;
  std::set<int> painters;  ///< cp ranks
};

class CoverageFacts {
 public:
  CoverageFacts(const Case& c, const Look& look)
      : c_(c),
        look_(look),
        oracle_(c.oracle(look.step, look.group)),
        chunks_(oracle_.chunks(c.stats)),
        scene_(viz::makeCoverageScene(*c.trace, look.cursor(c))) {}

  void expect() const {
    ASSERT_EQ(scene_.note, "");
    ASSERT_EQ(scene_.chunks, static_cast<int>(chunks_.size()));
    const bool complete = look_.ring_step + 1 == oracle_.ringSteps();
    EXPECT_EQ(scene_.complete, complete);
    for (int q = 0; q < scene_.chunks; ++q)
      for (int k = 0; k < scene_.chunks; ++k) expectCell(q, k);
    EXPECT_FALSE(scene_.faulty());
    expectContiguous();
    const std::string words = viz::describe(scene_);
    EXPECT_EQ(words.find("✓ every pair") == 0, complete) << words;
    EXPECT_EQ(words.find("filling") == 0, !complete) << words;
    expectWork();
  }

 private:
  Cell cellFor(int q, int k) const {
    Cell cell;
    for (const int query : chunks_[static_cast<std::size_t>(q)])
      for (const int key : chunks_[static_cast<std::size_t>(k)]) {
        if (!oracle_.allowed(query, key)) continue;
        ++cell.wanted;
        for (const int rank : oracle_.sharers(oracle_.findOwner(query))) {
          const int source = memberOf(rank, oracle_.findOwner(key));
          const int step = oracle_.findStep(rank, source, look_.backward);
          if (step > look_.ring_step) continue;
          cell.last_step = std::max(cell.last_step, step);
          cell.now = cell.now || step == look_.ring_step;
          cell.painters.insert(c_.worldRankFor(look_.group, rank));
          if (rank == oracle_.findOwner(query)) ++cell.attended;
        }
      }
    return cell;
  }
  /// Returns the member of the rank's ring that has the tokens of `owner`.
  int memberOf(int rank, int owner) const {
    const int sharers = oracle_.plan().ulysses;
    return owner / sharers * sharers + rank % sharers;
  }

  void expectCell(int q, int k) const {
    SCOPED_TRACE("chunks " + std::to_string(q) + " × " + std::to_string(k));
    const Cell expected = cellFor(q, k);
    const viz::PairCell& says = scene_.at(q, k);
    EXPECT_EQ(says.wanted, static_cast<double>(expected.wanted));
    EXPECT_EQ(says.attended, static_cast<double>(expected.attended));
    EXPECT_EQ(says.ring_step.value(), expected.last_step);
    EXPECT_EQ(says.now, expected.now);
    std::set<int> painters;
    for (const auto rank : scene_.pairPainters(q, k))
      if (rank.exists()) painters.insert(rank.value());
    EXPECT_EQ(painters, expected.painters);
    expectWords(viz::describePair(scene_, q, k), q, k, expected);
  }

  void expectWords(const std::string& says, int q, int k, const Cell& expected) const {
    std::smatch words;
    ASSERT_TRUE(std::regex_match(
        says, words,
        std::regex("query chunk (\\d+) × key chunk (\\d+): "
                   "(?:(masked)|not attended( yet)?|attended by ranks? ([\\d, –]+)"
                   "(?:, each for its heads,)? at ring step (\\d+)(?:: ([\\d,]+) pairs where the "
                   "mask has ([\\d,]+))?)")))
        << says;
    EXPECT_EQ(std::stoi(words[1]), q);
    EXPECT_EQ(std::stoi(words[2]), k);
    EXPECT_EQ(words[3].matched, expected.wanted == 0) << says;
    EXPECT_EQ(words[5].matched, expected.attended > 0) << says;
    if (!words[5].matched) return;
    EXPECT_EQ(numbersIn(words[5]), expected.painters) << says;
    EXPECT_EQ(std::stoi(words[6]), expected.last_step) << says;
    EXPECT_EQ(words[7].matched, expected.attended != expected.wanted) << says;
    if (!words[7].matched) return;
    EXPECT_EQ(words[7], std::to_string(expected.attended)) << says;
    EXPECT_EQ(words[8], std::to_string(expected.wanted)) << says;
  }

  /// Checks the figures for the same sequence, cut into equal contiguous parts.
  void expectContiguous() const {
    Plan plan = oracle_.plan();
    const bool causal = plan.causal && plan.window == 0 && plan.documents.empty();
    EXPECT_EQ(scene_.contiguous.has_value(), causal);
    if (!scene_.contiguous) return;
    plan.dealing = Dealing::kContiguous;
    const PlanOracle contiguous(plan);
    double most = 0, sum = 0;
    for (int rank = 0; rank < c_.cp; ++rank) {
      double work = 0;
      for (const int source : contiguous.ring(rank))
        work += static_cast<double>(contiguous.pairs(rank, source));
      most = std::max(most, work);
      sum += work;
    }
    EXPECT_NEAR(*scene_.contiguous, sum / c_.cp / most, 1e-9);
  }

  std::int64_t pairsOfMask() const {
    std::int64_t pairs = 0;
    const int length = oracle_.plan().length;
    for (int query = 0; query < length; ++query)
      for (int key = 0; key < length; ++key) pairs += oracle_.allowed(query, key);
    return pairs;
  }

  void expectWork() const {
    double most = 0, sum = 0;
    for (int rank = 0; rank < c_.cp; ++rank) {
      double done = 0, total = 0;
      std::int64_t wait = 0;
      for (int step = 0; step < oracle_.ringSteps(); ++step) {
        for (const int source : oracle_.sources(rank, step, look_.backward)) {
          const double pairs =
              static_cast<double>(oracle_.pairs(rank, source)) / oracle_.plan().ulysses;
          total += pairs;
          if (step <= look_.ring_step) done += pairs;
        }
        traces::Place place = look_.place();
        place.stage = traces::RingStep::of(step);
        for (const auto& event : eventsFor(c_, c_.worldRankFor(look_.group, rank), place))
          if (event.kind == traces::EventKind::kWait) wait += event.end_ns - event.begin_ns;
      }
      const auto seat = static_cast<std::size_t>(rank);
      EXPECT_NEAR(scene_.work_done[seat], done, 1e-6);
      EXPECT_NEAR(scene_.work_total[seat], total, 1e-6);
      EXPECT_EQ(scene_.wait_ns[seat], wait);
      most = std::max(most, total);
      sum += total;
    }
    EXPECT_NEAR(sum, static_cast<double>(pairsOfMask()), 1e-6) << "ranks share the mask's pairs";
    EXPECT_NEAR(scene_.efficiency(), most > 0 ? sum / c_.cp / most : 1, 1e-9);
  }

  const Case& c_;
  const Look& look_;
  const PlanOracle& oracle_;
  std::vector<std::vector<int>> chunks_;
  viz::CoverageScene scene_;
};

}  // namespace

void expectCoverage(const Case& c, const Look& look) {
  CoverageFacts(c, look).expect();
}

}  // namespace ringscope::facts
