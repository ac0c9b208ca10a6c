// SPDX-License-Identifier: Apache-2.0
#include "traces/doctor/label_reading.h"

#include <optional>
#include <set>

#include "traces/doctor/sequence_tokens.h"
#include "traces/doctor/shared_readings.h"
#include "traces/query/sequence_groups.h"
#include "traces/schema/token_runs.h"

namespace ringscope::traces {
namespace {

/// One way in which labels may have been shifted by two tokens.
struct Second {
  std::int64_t unlike = 0;  // labels that contradict it
  std::int64_t like = 0;    // that agree with it, and are not the next token
  bool holds() const { return unlike == 0 && like > 0; }
};

/// How many labels contradict a reading of them.
struct Counts {
  std::int64_t targets = 0, wrong = 0;
  std::int64_t within = 0, wrong_within = 0;  // of those, whose next token is on the same rank
  std::int64_t unlike_local = 0;  // not the rank's next token, or a target at the shard's end
  Second of_sequence;             // before sharding: the token after the next
  Second of_shard;                // after it: what the rank's next token should have
  std::int64_t lost = 0;
  std::int64_t undeclared = 0;  // lost, if no document ends there
  WorldRank first;
};

/// Whether the sequence goes on after a token, as it was declared; nothing where nobody said.
std::optional<bool> goesOn(const IntentRecord* meant, TokenIndex token) {
  if (!meant) return std::nullopt;
  if (meant->mask != MaskKind::kDocuments) {
    if (meant->positions == PositionRule::kEachDocument) return std::nullopt;
    return true;
  }
  if (meant->documents.empty()) return std::nullopt;
  const TokenRun* document = runWith(meant->documents, token);
  return document && token.value() + 1 < document->end;
}

class Reader {
 public:
  Reader(const SequenceTokens& all, const IntentRecord* meant) : all_(all), meant_(meant) {}

  Counts read() {
    for (const RankTokens& rank : all_.ranks())
      for (std::size_t row = 0; row < rank.rows(); ++row)
        for (std::size_t i = 0; i < rank.tokens.size(); ++i) readToken(rank, row, i);
    return counts_;
  }

 private:
  void readToken(const RankTokens& rank, std::size_t row, std::size_t i) {
    const double label = rank.label(row, i);
    if (label < 0) {
      if (i + 1 == rank.tokens.size()) readEnd(rank, row, i);
      return;
    }
    const bool last = i + 1 == rank.tokens.size();
    const TokenIndex next = rank.tokens[i].next();
    counts_.unlike_local += last || label != rank.id(row, i + 1);
    const auto right = all_.id(next, row);
    if (right) {
      const bool same_rank = all_.find(next).rank == &rank;
      ++counts_.targets;
      counts_.within += same_rank;
      if (label != *right) {
        ++counts_.wrong;
        counts_.wrong_within += same_rank;
        if (counts_.first.isNone()) counts_.first = rank.rank;
      }
    }
    readSecond(rank, row, i, right && label != *right);
  }

  void readSecond(const RankTokens& rank, std::size_t row, std::size_t i, bool wrong) {
    const auto compare = [&](Second& second, std::optional<double> should) {
      if (!should) return;  // beyond what is known
      if (rank.label(row, i) == *should)
        second.like += wrong;
      else
        ++second.unlike;
    };
    compare(counts_.of_sequence, all_.id(rank.tokens[i].next().next(), row));
    if (i + 1 < rank.tokens.size())
      compare(counts_.of_shard, all_.id(rank.tokens[i + 1].next(), row));
    else
      ++counts_.of_shard.unlike;  // nothing is left for the last
  }

  /// The shard's last token has no target: it should have one if its neighbours do and its document
  /// goes on.
  void readEnd(const RankTokens& rank, std::size_t row, std::size_t i) {
    const TokenIndex token = rank.tokens[i];
    const auto before = all_.label(token.previous(), row), after = all_.label(token.next(), row);
    if (!before || !after || *before < 0 || *after < 0) return;
    // Documents are declared of one sequence.
    const bool told = all_.complete() && (!meant_ || meant_->documents.empty() || rank.rows() == 1);
    const auto goes_on = told ? goesOn(meant_, token) : std::nullopt;
    if (goes_on == false) return;
    ++(goes_on ? counts_.lost : counts_.undeclared);
    if (counts_.first.isNone()) counts_.first = rank.rank;
  }

  const SequenceTokens& all_;
  const IntentRecord* meant_;
  Counts counts_;
};

/// With fewer labels to compare, a coincidence could be the reason.
constexpr std::int64_t kFewTargets = 4;

LabelReading judge(const Counts& c) {
  LabelReading reading;
  reading.recorded = true;
  reading.rank = c.first;
  reading.targets = c.targets;
  reading.wrong = c.wrong;
  reading.lost = c.lost;
  const bool as_in_shards = c.unlike_local == 0 && c.wrong + c.lost > 0;
  const bool twice = c.of_sequence.holds() || c.of_shard.holds();
  if (c.targets < kFewTargets && c.wrong + c.lost > 0) {
    reading.missing = "needs more targets than the " + std::to_string(c.targets) + " that it has";
  } else if (as_in_shards && !c.of_shard.holds()) {
    reading.are = LabelsAre::kShiftedPerShard;
    reading.certain = c.wrong > 0 && !c.of_sequence.holds();  // two stripes are two tokens apart
  } else if (twice && !as_in_shards) {
    reading.are = LabelsAre::kShiftedTwice;
  } else if (c.wrong > 0 && c.wrong_within == 0 && c.within >= kFewTargets) {
    reading.are = LabelsAre::kOfOtherBatches;
    reading.missing = "needs ranks that work on one batch";
  } else if (c.wrong > 0) {
    reading.missing = "needs labels that are the next tokens, shifted in some known way; " +
                      std::to_string(c.wrong) + " of " + std::to_string(c.targets) + " are neither";
  } else if (c.undeclared > 0 && c.unlike_local == 0) {
    reading.missing = "needs a declaration whether documents end where the ranks' shards do";
  } else {
    reading.are = LabelsAre::kNextTokens;
  }
  return reading;
}

std::set<std::int32_t> stepsOf(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor == TensorName{TensorKind::kBuffer, "labels"})
      steps.insert(tensor.place.train_step);
  return steps;
}

LabelReading computedLabels(const Trace& trace) {
  LabelReading all;
  all.missing = "needs the values of input_ids and labels, and which tokens these are";
  bool any_right = false;
  for (const std::int32_t train_step : stepsOf(trace))
    for (const auto& members : sequenceGroups(trace)) {
      const auto tokens = SequenceTokens::of(trace, train_step, members);
      if (!tokens) continue;
      const IntentRecord* meant = trace.intent(train_step, tokens->ranks().front().rank);
      LabelReading reading = judge(Reader(*tokens, meant).read());
      reading.place = {train_step};
      if (reading.are == LabelsAre::kNextTokens) {
        any_right = true;
        reading.targets += all.targets;
        all = std::move(reading);
      } else if (reading.are != LabelsAre::kUnknown || !any_right || reading.wrong > 0) {
        return reading;
      }
    }
  return all;
}

}  // namespace

LabelReading readLabels(const Trace& trace) {
  return SharedReadings::of(trace, computedLabels);
}

RuleResult unknownLabels(const LabelReading& labels) {
  return labels.recorded ? undecided(labels.missing) : notObservable(labels.missing);
}

}  // namespace ringscope::traces
