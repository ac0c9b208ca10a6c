// SPDX-License-Identifier: Apache-2.0
// The sentences of findings about gradients, their sum over the ranks and their norm, and about the
// hop that was left out.
#include <cmath>

#include "tests/facts/finding_facts.h"

namespace ringscope::facts {
namespace {

using traces::TensorKind;
using traces::TensorRecord;

constexpr const char* kEmbedding = "model.embed_tokens.weight";
constexpr const char* kOutput = "lm_head.weight";

class GradientFacts : FindingFacts {
 public:
  using FindingFacts::FindingFacts;

  void ofEmbedding() const {
    ASSERT_TRUE(
        says("The gradient of (\\S+) is exactly 0 on (?:all (\\d+) ranks that recorded it|the rank "
             "that recorded it), while (\\d+) of (\\d+) other gradients are not\\."));
    int ranks = 0, others = 0, others_not_zero = 0;
    eachGradient([&](const TensorRecord& tensor) {
      const bool embeds = tensor.tensor.name == kEmbedding;
      ranks += embeds;
      others += !embeds;
      others_not_zero += !embeds && !(tensor.stats.abs_max == 0);
      EXPECT_EQ(embeds && tensor.stats.abs_max != 0, false);
    });
    EXPECT_EQ(words_[1], kEmbedding);
    EXPECT_EQ(ranks, c_.groups() * c_.cp);
    EXPECT_EQ(words_[2].matched ? number(2) : 1, ranks);
    EXPECT_EQ(number(3), others_not_zero);
    EXPECT_EQ(number(4), others);
    EXPECT_EQ(step_, 0);
  }

  void ofClipping() const {
    if (says("The gradients after the sync have the norm (\\S+) in training step (\\d+), above the "
             "limit of (\\S+), and go to the optimizer as they are; a factor of (\\S+) was due\\. "
             "So it is where ranks clip their own parts, which are smaller, or where nothing is "
             "clipped\\.")) {
      EXPECT_NEAR(real(1), logged("grad_norm"), 6e-3 * real(1));
      EXPECT_EQ(number(2), step_);
      EXPECT_NEAR(real(3), c_.trace->run()->max_norm, 1e-2 * real(3));
      EXPECT_NEAR(real(4) * logged("grad_norm"), c_.trace->run()->max_norm, 2e-2 * real(3));
      EXPECT_EQ(f_.buffer, "grad_norm");
      return;
    }
    ASSERT_TRUE(
        says("The gradient of (\\S+) after the sync is a sum in which each rank's own part was "
             "made smaller: (.*), which leaves (\\S+) % of it\\. From the sum of what the recorded "
             "logits and labels give it is off by (\\S+) %\\."));
    EXPECT_EQ(words_[1], kOutput);
    EXPECT_LT(real(3), real(4));
    constexpr std::size_t kShown = 4;
    const std::string list = words_[2];
    auto ranks = summedRanks();
    std::erase_if(ranks, [this](int world) {  // whose part is nothing, whatever it is scaled by
      return countTargets(c_, step_, world / c_.cp, world % c_.cp) == 0;
    });
    std::size_t shown = 0;
    bool smaller = false;
    const std::regex one("rank (\\d+) by ([^, ]+)");
    for (std::sregex_iterator at(list.begin(), list.end(), one), end; at != end; ++at, ++shown) {
      EXPECT_EQ(std::stoi((*at)[1]), ranks.at(shown));
      EXPECT_LE(std::stod((*at)[2]), 1.05);
      smaller = smaller || std::stod((*at)[2]) < 1;
    }
    EXPECT_EQ(shown, std::min(kShown, ranks.size()));
    EXPECT_EQ(list.ends_with(" and so on"), ranks.size() > kShown);
    EXPECT_TRUE(smaller || ranks.size() > kShown);
  }

  void ofScale() const {
    EXPECT_EQ(f_.place.direction, traces::Direction::kBackward);
    if (says("The gradient of (\\S+) is (\\S+) times the one that follows from the recorded "
             "logits and labels of all ranks, within (\\S+) %\\.")) {
      EXPECT_EQ(words_[1], kOutput);
      EXPECT_NEAR(real(2), c_.cp, 0.02 * c_.cp);
      EXPECT_LT(real(3), 5);
      return;
    }
    ASSERT_TRUE(
        says("Loss and attention equal those of unsharded training, and all (\\d+) gradients of "
             "step (\\d+) are (\\S+) times its; their norm is (\\S+) where it has (\\S+)\\."));
    EXPECT_EQ(number(1), verdictsOnGradients());
    EXPECT_EQ(number(2), step_);
    EXPECT_EQ(real(3), c_.cp);
    EXPECT_NEAR(real(4), logged("grad_norm"), 1e-3 * real(4));
    EXPECT_NEAR(real(4), c_.cp * real(5), 0.03 * real(4));
  }

  /// Each rank counts for all that it holds.
  void ofNorm() const {
    ASSERT_TRUE(
        says("The norm by which gradients are clipped is (\\S+); the gradients after the sync have "
             "(\\S+), and (\\S+) comes of counting (.*)\\."));
    EXPECT_NEAR(real(1), logged("grad_norm"), 1e-5 * real(1));
    EXPECT_NEAR(real(3), real(1), 3e-5 * real(1));
    double once = 0, held = 0;
    if (c_.capture == "full") {
      std::map<std::string, std::set<std::uint64_t>> seen;
      eachGradient([&](const TensorRecord& tensor) {
        const auto values = c_.trace->values(tensor);
        ASSERT_TRUE(values);
        double squares = 0;
        for (const double value : *values) squares += value * value;
        held += squares;
        const int world = tensor.rank.value();
        const bool of_first = world % c_.cp == 0 && world / c_.cp / c_.tp == 0;
        if (of_first && seen[tensor.tensor.name].insert(tensor.hash).second) once += squares;
      });
      EXPECT_NEAR(real(2), std::sqrt(once), 1e-4 * real(2));
      EXPECT_NEAR(real(3), std::sqrt(held), 1e-4 * real(3));
    }
    const int replicas = c_.dp * c_.cp;
    const std::string what = words_[4];
    if (c_.tp == 1)
      EXPECT_EQ(what, "the same gradients of each of " + std::to_string(replicas) + " ranks");
    else if (replicas == 1)
      EXPECT_EQ(what, "what tp ranks hold alike once for each of them");
    else
      EXPECT_EQ(what, "all that any of the ranks holds");
    EXPECT_EQ(f_.buffer, "grad_norm");
    EXPECT_EQ(step_, 0);
  }

  /// A rank posts nothing in its first ring step.
  void ofHop() const {
    ASSERT_TRUE(
        says("Rank (\\d+) is in ring step (\\d+), and no block had come to it in ring step (\\d+), "
             "in which its schedule has one come: it goes on with what it had, and its neighbours' "
             "messages no longer belong to their ring steps\\."));
    EXPECT_EQ(number(1), f_.rank.value());
    EXPECT_EQ(f_.rank.value(), c_.made.rank);
    EXPECT_GT(number(2), number(3));
    EXPECT_LT(number(2), oracle_.ringSteps());
    EXPECT_EQ(number(3), 0);
    EXPECT_EQ(f_.place.stage.value(), 0);
    EXPECT_EQ(f_.place.layer.value(), c_.made.layer);
    EXPECT_EQ(f_.place.direction, traces::Direction::kForward);
    EXPECT_EQ(step_, c_.made.step);
  }

 private:
  template <typename Take>
  void eachGradient(const Take& take) const {
    for (const TensorRecord& tensor : c_.trace->tensors())
      if (tensor.tensor.kind == TensorKind::kGradient && tensor.place.train_step == step_)
        take(tensor);
  }
  double logged(const char* number) const {
    return c_.trace->note("step." + std::to_string(step_)).at(number).get<double>();
  }
  std::int64_t verdictsOnGradients() const {
    return std::ranges::count_if(c_.trace->diffs(), [this](const auto& diff) {
      return !diff.isolated && diff.place.train_step == step_ && diff.tensor.starts_with("grad.");
    });
  }
  /// Returns the ranks that sum their gradients, one slice of the model after the other.
  std::vector<int> summedRanks() const {
    std::vector<int> ranks;
    ranks.reserve(static_cast<std::size_t>(c_.groups()) * static_cast<std::size_t>(c_.cp));
    for (int tp = 0; tp < c_.tp; ++tp)
      for (int dp = 0; dp < c_.dp; ++dp)
        for (int rank = 0; rank < c_.cp; ++rank)
          ranks.push_back(c_.worldRankFor(dp * c_.tp + tp, rank));
    return ranks;
  }
};

}  // namespace

const Sentences& gradientSentences() {
  static const Sentences kSentences = {
      {"embedding_detached", compared<GradientFacts, &GradientFacts::ofEmbedding>},
      {"clip_before_reduce", compared<GradientFacts, &GradientFacts::ofClipping>},
      {"grad_scaled_by_cp", compared<GradientFacts, &GradientFacts::ofScale>},
      {"norm_counts_replicas", compared<GradientFacts, &GradientFacts::ofNorm>},
      {"dropped_hop", compared<GradientFacts, &GradientFacts::ofHop>},
  };
  return kSentences;
}

}  // namespace ringscope::facts
