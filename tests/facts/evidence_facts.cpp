// SPDX-License-Identifier: Apache-2.0
// The sentences of findings about tokens, positions, labels and batches: every number in them.
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/facts/finding_facts.h"

namespace ringscope::facts {
namespace {

class EvidenceFacts : FindingFacts {
 public:
  using FindingFacts::FindingFacts;

  void ofPositions() const {
    ASSERT_TRUE(
        says("(\\d+) of (\\d+) position ids differ from (the global index of their token|"
             "their token's place in its document), by up to (\\d+); (\\d+) of them count "
             "the rank's own tokens from 0, .*"));
    std::int64_t wrong = 0, all = 0, most = 0, own = 0;
    bool by_document = false;
    eachKnownToken([&](const Look& look, int rank, int row, int should) {
      const int used = usedPosition(c_, look, rank, row);
      const int batch = oracle_.plan().batch;
      all += batch;
      by_document =
          by_document ||
          should != c_.oracle(look.step, look.group).own(rank)[static_cast<std::size_t>(row)];
      if (used == should) return;
      wrong += batch;
      own += used == row ? batch : 0;
      most = std::max<std::int64_t>(most, std::abs(used - should));
    });
    EXPECT_EQ(number(1), wrong);
    EXPECT_EQ(number(2), all);
    EXPECT_EQ(words_[3] == "their token's place in its document", by_document);
    EXPECT_EQ(number(4), most);
    EXPECT_EQ(number(5), own);
    bool here = false;
    eachKnownToken([&](const Look& look, int rank, int row, int should) {
      here = here || (look.step == step_ && look.group == group_ && rank == rank_ &&
                      usedPosition(c_, look, rank, row) != should);
    });
    EXPECT_TRUE(here) << "the rank that it names has one";
  }

  void ofPackedPositions() const {
    ASSERT_TRUE(
        says("All (\\d+) position ids are indices in the packed sequence, so (\\d+) of "
             "them are not the place in their document, .*"));
    std::int64_t all = 0, wrong = 0;
    for (int step = 0; step < c_.steps; ++step)
      for (int group = 0; group < c_.groups(); ++group) {
        std::int64_t of_sequence = 0;
        for (int token = 0; token < oracle_.plan().length; ++token)
          of_sequence += c_.positionFor(step, group, token) != token;
        wrong += of_sequence;
        all += of_sequence > 0 ? oracle_.plan().length : 0;
      }
    EXPECT_EQ(number(1), all);
    EXPECT_EQ(number(2), wrong);
  }

  void ofLabelsPerShard() const {
    ASSERT_TRUE(
        says("Every label is the next token of its shard, .* a later chunk: (\\d+); last "
             "tokens of a shard that lost theirs: (\\d+)\\."));
    const Labels labels = countLabels();
    EXPECT_EQ(number(1), labels.wrong);
    EXPECT_EQ(number(2), labels.lost);
  }

  void ofLabelsTwice() const {
    ASSERT_TRUE(says("(\\d+) of (\\d+) labels differ from the next token; .*"));
    const Labels labels = countLabels();
    EXPECT_EQ(number(1), labels.wrong);
    EXPECT_EQ(number(2), labels.targets);
  }

  /// The sampler deals them by step and cp rank.
  void ofBatches() const {
    ASSERT_TRUE(
        says("The token ids of the whole batch are others on rank (\\d+) than on rank "
             "(\\d+), .*"));
    EXPECT_EQ(number(1), f_.rank.value());
    EXPECT_EQ(number(2) / c_.cp, group_) << "of one group";
    const auto dealt = [&](std::int64_t rank) { return (step_ * c_.cp + rank % c_.cp) % c_.steps; };
    EXPECT_NE(dealt(number(1)), dealt(number(2)));
  }

  void ofDpBatches() const {
    ASSERT_TRUE(
        says("In each of (\\d+) training steps, (\\d+) to (\\d+), the ranks .* \\((\\d+) "
             "pairs?\\), though (\\d+) different batches .*"));
    EXPECT_EQ(number(1), c_.steps);
    EXPECT_EQ(number(2), 0);
    EXPECT_EQ(number(3), c_.steps - 1);
    EXPECT_EQ(number(4), (c_.dp - 1) * c_.tp * c_.cp);
    EXPECT_EQ(number(5), c_.steps);
  }

  void ofBuffers() const {
    ASSERT_TRUE(
        says("Row (\\d+) of the rank's shard is token (\\d+) in (\\S+) and token (\\d+) in "
             "(\\S+)\\."));
    expectFirst(number(1));
    EXPECT_EQ(number(2), tokenFor(words_[3], number(1)));
    EXPECT_EQ(number(4), tokenFor(words_[5], number(1)));
    EXPECT_EQ(f_.buffer, words_[5]);
  }

  void ofShards() const {
    if (says("The declared balance is (\\S+), and the rank holds the first (\\d+) tokens in a row, "
             "as without a balance\\.")) {
      EXPECT_EQ(words_[1], nameFor(oracle_.plan().dealing));
      EXPECT_EQ(number(2), oracle_.plan().length / c_.cp);
      EXPECT_EQ(rank_, 0);
      return;
    }
    ASSERT_TRUE(
        says("Row (\\d+) of the rank's shard is token (\\d+), and attention takes it for "
             "token (\\d+): .*"));
    expectFirst(number(1));
    EXPECT_EQ(number(2), equalPart(number(1)));
    EXPECT_EQ(number(3), dealt(number(1)));
  }

  void ofRotary() const {
    if (says("Ranks (\\d+) and (\\d+) have the same (?:cos|sin) for different position ids: .*")) {
      const auto& own = oracle_.own(rank_);
      const auto other = static_cast<int>(number(1));
      EXPECT_EQ(number(2), f_.rank.value());
      std::vector<int> ids, of_other;
      for (const int token : own) ids.push_back(c_.positionFor(step_, group_, token));
      const PlanOracle& theirs = c_.oracle(step_, other / c_.cp);
      for (const int token : theirs.own(other % c_.cp))
        of_other.push_back(c_.positionFor(step_, other / c_.cp, token));
      EXPECT_NE(ids, of_other);
      return;
    }
    ASSERT_TRUE(
        says("Position (\\d+) (?:has two different rows of cos and sin|does not follow "
             "position (\\d+) by the angles by which others follow theirs), off by (\\S+) "
             "radians\\."));
    EXPECT_LT(number(1), oracle_.plan().length);
    if (words_[2].matched) {
      EXPECT_EQ(number(1), number(2) + 1);
    }
  }

  void ofBalance() const {
    ASSERT_TRUE(says("The sequence is dealt by (\\S+), and every query attends to every key: .*"));
    EXPECT_EQ(words_[1], nameFor(oracle_.plan().dealing));
  }

 private:
  struct Labels {
    std::int64_t targets = 0, wrong = 0, lost = 0;
  };

  static std::string nameFor(Dealing dealing) {
    constexpr const char* kNames[] = {"none", "head_tail", "striped", "per_document"};
    return kNames[static_cast<int>(dealing)];
  }

  /// The token of a row as the balance deals them, and as equal parts are cut.
  std::int64_t dealt(std::int64_t row) const {
    return oracle_.own(rank_).at(static_cast<std::size_t>(row));
  }
  std::int64_t equalPart(std::int64_t row) const {
    return rank_ * (oracle_.plan().length / c_.cp) + row;
  }
  std::int64_t tokenFor(const std::string& buffer, std::int64_t row) const {
    return buffer == "position_ids" ? equalPart(row) : dealt(row);
  }
  void expectFirst(std::int64_t row) const {
    EXPECT_NE(dealt(row), equalPart(row));
    for (std::int64_t before = 0; before < row; ++before)
      EXPECT_EQ(dealt(before), equalPart(before));
  }

  template <typename Do>
  void eachKnownToken(const Do& take) const {
    Look look;
    for (look.step = 0; look.step < c_.steps; ++look.step)
      for (look.group = 0; look.group < c_.groups(); ++look.group) {
        if (!c_.positionsKnown(look.step, look.group)) continue;
        const PlanOracle& oracle = c_.oracle(look.step, look.group);
        for (int rank = 0; rank < c_.cp; ++rank)
          for (int row = 0; row < std::ssize(oracle.own(rank)); ++row)
            take(look, rank, row,
                 c_.positionFor(look.step, look.group,
                                oracle.own(rank)[static_cast<std::size_t>(row)]));
      }
  }

  /// Labels of the finding's group, each beside the next token of the sequence.
  Labels countLabels() const {
    Labels counts;
    const int length = oracle_.plan().length;
    for (int row = 0; row < oracle_.plan().batch; ++row) {
      std::map<int, int> of_token;
      std::set<int> ends;
      for (int rank = 0; rank < c_.cp; ++rank) {
        const auto labels = usedLabels(c_, step_, group_, rank)[static_cast<std::size_t>(row)];
        const auto& own = oracle_.own(rank);
        for (std::size_t i = 0; i < own.size(); ++i) of_token[own[i]] = labels[i];
        ends.insert(own.back());
      }
      for (const auto& [token, label] : of_token) {
        const bool inside = token > 0 && token + 1 < length;
        counts.lost += label < 0 && ends.contains(token) && inside && of_token[token - 1] >= 0 &&
                       of_token[token + 1] >= 0;
        if (label < 0 || token + 1 >= length) continue;
        ++counts.targets;
        counts.wrong += label != c_.tokens[c_.at(step_, group_, row, token + 1)];
      }
    }
    return counts;
  }
};

}  // namespace

const Sentences& tokenSentences() {
  static const Sentences kSentences = {
      {"missing_position_ids", compared<EvidenceFacts, &EvidenceFacts::ofPositions>},
      {"positions_not_reset_per_document",
       compared<EvidenceFacts, &EvidenceFacts::ofPackedPositions>},
      {"shift_labels_per_shard", compared<EvidenceFacts, &EvidenceFacts::ofLabelsPerShard>},
      {"labels_shifted_twice", compared<EvidenceFacts, &EvidenceFacts::ofLabelsTwice>},
      {"different_batches_on_cp_ranks", compared<EvidenceFacts, &EvidenceFacts::ofBatches>},
      {"same_batch_on_dp_ranks", compared<EvidenceFacts, &EvidenceFacts::ofDpBatches>},
      {"balance_differs_between_buffers", compared<EvidenceFacts, &EvidenceFacts::ofBuffers>},
      {"unbalanced_unshard", compared<EvidenceFacts, &EvidenceFacts::ofShards>},
      {"missing_rope_buffer", compared<EvidenceFacts, &EvidenceFacts::ofRotary>},
      {"balance_without_causal", compared<EvidenceFacts, &EvidenceFacts::ofBalance>},
  };
  return kSentences;
}

}  // namespace ringscope::facts
