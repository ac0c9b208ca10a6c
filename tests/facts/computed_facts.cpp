// SPDX-License-Identifier: Apache-2.0
// The sentences of findings about what was computed: merges, losses, gradients, values that are not
// finite.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/facts/finding_facts.h"
#include "traces/format/trace/trace.h"

namespace ringscope::facts {
namespace {

using traces::TensorKind;
using traces::TensorRecord;

constexpr const char* kLogged = "(\\S+) was logged, where the sum over all targets gives (\\S+)";

/// The number of tensors of one kind, and how many of them differ between ranks of the same slice.
struct Unlike {
  int all = 0, differing = 0;
};

class ComputedFacts : FindingFacts {
 public:
  using FindingFacts::FindingFacts;

  void ofMerge() const {
    ASSERT_TRUE(
        says("The recorded out equals the plain sum of up to (\\d+) pieces a row within "
             "(\\S+); from the sum weighted by exp\\(block_lse − lse\\) it differs by "
             "(\\S+) at token ([\\d,]+), where out's largest value is (\\S+)\\."));
    int most = 0;
    for (const int token : oracle_.own(rank_))
      most = std::max(most, blocksFor(oracle_, rank_, token));
    EXPECT_GE(number(1), most) << "a block may be attended in several pieces";
    const auto token = static_cast<int>(number(4));
    ASSERT_EQ(oracle_.findOwner(token), rank_) << "a token of the rank";
    const auto numbers = c_.numbers(step_, f_.place.layer.value(), group_);
    ASSERT_TRUE(numbers);
    EXPECT_GE(real(3) * 1.05 + 5 * c_.tolerance, differenceAt(oracle_, *numbers, rank_, token));
    EXPECT_LT(real(2), real(3));
    EXPECT_GT(real(5), 0);
  }

  void ofGradients() const {
    ASSERT_TRUE(
        says("(\\d+) of (\\d+) gradients differ between cp ranks after the sync \\(largest "
             "entries by a factor of up to (\\S+)\\), and (\\d+) of (\\d+) weights differ "
             "after the step; (a reduction of gradients was recorded, but not over these "
             "ranks|no reduction of gradients was recorded)\\."));
    const Unlike gradients = unlike(TensorKind::kGradient), weights = unlike(TensorKind::kWeight);
    EXPECT_EQ(number(1), gradients.differing);
    EXPECT_EQ(number(2), gradients.all);
    EXPECT_GE(real(3), 1);
    EXPECT_EQ(number(4), weights.differing);
    EXPECT_EQ(number(5), weights.all);
    EXPECT_EQ(words_[6].str().starts_with("a reduction"), c_.dp > 1);
    EXPECT_EQ(step_, 0);
  }

  /// It is the last cp rank's block of its own that has one, in the first layer. A merge of rows
  /// without a key (lse_overflow) may make NaN of out alone, whose rank its plan does not name.
  void ofFinite() const {
    ASSERT_TRUE(says("The first of them: (\\d+) NaN and (\\d+) infinite values in (.*)\\."));
    EXPECT_EQ(words_[3], f_.buffer);
    if (c_.mistake == "lse_overflow") {
      EXPECT_EQ(f_.buffer, "out");
    } else {
      EXPECT_EQ(f_.rank.value(), c_.made.rank);
      EXPECT_EQ(step_, c_.made.step);
      EXPECT_EQ(f_.place.layer.value(), c_.made.layer);
      EXPECT_EQ(f_.place.stage.value(), 0);
      EXPECT_EQ(f_.buffer, "block_out");
    }
    bool there = false;
    for (const TensorRecord& tensor : c_.trace->tensors())
      there = there || (tensor.rank == f_.rank && tensor.place == f_.place &&
                        tensor.tensor.text() == f_.buffer && tensor.stats.nan == number(1) &&
                        tensor.stats.inf == number(2));
    EXPECT_TRUE(there);
    EXPECT_EQ(f_.remedy.find("Look at what rank " + toString(f_.rank) + " computed"), 0u);
  }

  void ofMeans() const {
    ASSERT_TRUE(says(std::string(kLogged) +
                     ": it is the mean of (\\d+) means, over (\\d+) targets on rank (\\d+) and "
                     "(\\d+) on rank (\\d+)\\."));
    expectLosses();
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (const int world : speakers()) {
      fewest = std::min(fewest, targetsAt(world));
      most = std::max(most, targetsAt(world));
    }
    EXPECT_EQ(number(3), c_.dp * c_.cp);
    EXPECT_EQ(number(4), fewest);
    EXPECT_EQ(targetsAt(static_cast<int>(number(5))), fewest);
    EXPECT_EQ(number(6), most);
    EXPECT_EQ(targetsAt(static_cast<int>(number(7))), most);
  }

  void ofScale() const {
    ASSERT_TRUE(says(std::string(kLogged) + ", (\\S+)× (less|more): .*"));
    expectLosses();
    EXPECT_EQ(real(3), c_.cp);
    EXPECT_EQ(words_[4], "less");
    EXPECT_NEAR(real(1), c_.cp * real(2), 1e-5 * real(1));
  }

  void ofOneRank() const {
    ASSERT_TRUE(says(std::string(kLogged) + ": it is the mean over the targets of rank (\\d+) "
                                            "alone\\."));
    expectLosses();
    const auto rank = static_cast<int>(number(3));
    EXPECT_EQ(f_.rank.value(), rank);
    EXPECT_NEAR(real(1), sumAt(rank) / static_cast<double>(targetsAt(rank)), 1e-5 * real(1));
  }

  void ofNoTargets() const {
    ASSERT_TRUE(
        says("Rank (\\d+) has no label that is not ignored; the sums of all (\\d+) ranks "
             "are finite, .*"));
    EXPECT_EQ(number(1), f_.rank.value());
    EXPECT_EQ(targetsAt(f_.rank.value()), 0);
    EXPECT_EQ(number(2), c_.dp * c_.cp);
  }

 private:
  static int blocksFor(const PlanOracle& oracle, int rank, int token) {
    int blocks = 0;
    for (const int source : oracle.ring(rank)) {
      bool any = false;
      for (const int key : oracle.attended(source)) any = any || oracle.allowed(token, key);
      blocks += any;
    }
    return blocks;
  }

  /// Returns the largest difference between the weighted and the plain sum of blocks, for the first
  /// element of each of the token's rows.
  double differenceAt(const PlanOracle& oracle, const Numbers& n, int rank, int token) const {
    double largest = 0;
    for (int b = 0; b < n.batch; ++b)
      for (int h = 0; h < n.heads; ++h) {
        std::vector<Attended> blocks;
        double most = -std::numeric_limits<double>::infinity(), sum = 0, plain = 0, weighted = 0;
        for (const int source : oracle.ring(rank)) {
          const Attended block = attend(oracle, n, b, h, token, oracle.attended(source));
          if (!block.any()) continue;
          blocks.push_back(block);
          most = std::max(most, block.lse);
          plain += block.out;
        }
        for (const Attended& block : blocks) sum += std::exp(block.lse - most);
        for (const Attended& block : blocks)
          weighted += std::exp(block.lse - most) / sum * block.out;
        largest = std::max(largest, std::abs(plain - weighted));
      }
    return largest;
  }

  /// Each slice of each tensor of a kind in the finding's step, over the ranks that have it.
  Unlike unlike(TensorKind kind) const {
    std::map<std::pair<std::string, int>, std::set<std::uint64_t>> hashes;
    for (const TensorRecord& tensor : c_.trace->tensors())
      if (tensor.tensor.kind == kind && tensor.place.train_step == step_)
        hashes[{tensor.tensor.name, tensor.rank.value() / c_.cp % c_.tp}].insert(tensor.hash);
    Unlike unlike;
    for (const auto& [slice, of_ranks] : hashes) {
      ++unlike.all;
      unlike.differing += of_ranks.size() > 1;
    }
    return unlike;
  }

  /// A rank of each tp group, in whose name the others speak.
  std::vector<int> speakers() const {
    std::vector<int> ranks;
    for (int dp = 0; dp < c_.dp; ++dp)
      for (int rank = 0; rank < c_.cp; ++rank) ranks.push_back(c_.worldRankFor(dp * c_.tp, rank));
    return ranks;
  }
  std::int64_t targetsAt(int world) const {
    return countTargets(c_, step_, world / c_.cp, world % c_.cp);
  }
  double sumAt(int world) const {
    for (const TensorRecord& tensor : c_.trace->tensors())
      if (tensor.tensor.text().ends_with("loss.sum") && tensor.place.train_step == step_ &&
          tensor.rank.value() == world)
        return tensor.stats.mean;
    ADD_FAILURE() << "rank " << world << " did not record its loss";
    return 0;
  }

  /// Checks the logged loss and the right one, which is the sum over all ranks divided by the
  /// number of all targets.
  void expectLosses() const {
    double sum = 0, targets = 0;
    for (const int world : speakers()) {
      sum += sumAt(world);
      targets += static_cast<double>(targetsAt(world));
    }
    EXPECT_NEAR(real(2), sum / targets, 1e-6 * real(2));
    const auto& logged = c_.trace->note("step." + std::to_string(step_));
    EXPECT_NEAR(real(1), logged.at("loss").get<double>(), 1e-6 * std::abs(real(1)));
  }
};

}  // namespace

const Sentences& computedSentences() {
  static const Sentences kSentences = {
      {"naive_sum_merge", compared<ComputedFacts, &ComputedFacts::ofMerge>},
      {"missing_cp_grad_reduce", compared<ComputedFacts, &ComputedFacts::ofGradients>},
      {"nan_from_one_rank", compared<ComputedFacts, &ComputedFacts::ofFinite>},
      {"mean_of_local_means", compared<ComputedFacts, &ComputedFacts::ofMeans>},
      {"loss_scaled_by_cp", compared<ComputedFacts, &ComputedFacts::ofScale>},
      {"metric_not_reduced", compared<ComputedFacts, &ComputedFacts::ofOneRank>},
      {"rank_without_targets", compared<ComputedFacts, &ComputedFacts::ofNoTargets>},
  };
  return kSentences;
}

}  // namespace ringscope::facts
