// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/label_counts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "traces/format/schema/token_runs.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

/// Reports whether the declared sequence continues after a token; nullopt when nothing was
/// declared.
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

class LabelCounter {
 public:
  LabelCounter(const SequenceTokens& all, const IntentRecord* meant,
               const RestartedPositions& restarted)
      : all_(all), meant_(meant), restarted_(restarted) {}

  LabelCounts read() {
    for (const RankTokens& rank : all_.ranks())
      for (std::size_t row = 0; row < rank.rows(); ++row)
        for (std::size_t i = 0; i < rank.tokens.size(); ++i) readToken(rank, row, i);
    excuseEndsOfDocuments();
    readOtherCuts();
    return counts_;
  }

 private:
  /// Ids that show whether shards end where documents do.
  struct BorderIds {
    std::set<double> behind_lost;  ///< of the tokens behind lost labels
    std::set<double> wrong;        ///< that labels have instead of the next token
    std::set<double> labels, inputs;
  };

  /// Leaves lost and wrong labels undeclared where documents are as long as shards. All documents
  /// begin with one token that is never predicted, or end with one that is never an input.
  void excuseEndsOfDocuments() {
    constexpr std::int64_t kFewest = 3;  // places: fewer may have one token by chance
    const auto is_marker = [](const std::set<double>& ids, const std::set<double>& others) {
      return ids.size() == 1 && !others.contains(*ids.begin());
    };
    if (counts_.sure > 0) return;
    if (counts_.lost >= kFewest && is_marker(ids_.behind_lost, ids_.labels)) {
      counts_.undeclared += counts_.lost;
      counts_.lost = 0;
    }
    if (counts_.wrong >= kFewest && counts_.wrong_within == 0 &&
        is_marker(ids_.wrong, ids_.inputs)) {
      counts_.undeclared += counts_.wrong;
      counts_.targets -= counts_.wrong;
      counts_.wrong = 0;
    }
  }

  void readToken(const RankTokens& rank, std::size_t row, std::size_t i) {
    const double label = rank.label(row, i);
    ids_.inputs.insert(rank.id(row, i));
    const bool last = i + 1 == rank.tokens.size();
    counts_.inner += !last;
    if (!last && i > 0 && rank.label(row, i - 1) >= 0 && rank.label(row, i + 1) >= 0) {
      ++counts_.between;
      counts_.alone += label < 0;
    }
    if (label < 0) return readIgnored(rank, row, i, last);
    ++counts_.labels;
    ids_.labels.insert(label);
    const TokenIndex next = rank.tokens[i].next();
    // A roll of the shard gives its last token the first one.
    counts_.unlike_local += label != rank.id(row, last ? 0 : i + 1);
    const auto right = all_.id(next, row);
    if (right) {
      const bool same_rank = all_.find(next).rank == &rank;
      ++counts_.targets;
      counts_.within += same_rank;
      if (label != *right && last && meant_ && meant_->positions == PositionRule::kEachDocument) {
        ++counts_.undeclared;  // a document may end there, with a target that is no input
        --counts_.targets;
      } else if (label != *right) {
        ++counts_.wrong;
        ids_.wrong.insert(label);
        counts_.wrong_within += same_rank;
        if (counts_.first.isNone()) counts_.first = rank.rank;
      }
    }
    readSecond(rank, row, i, right && label != *right);
  }

  void readSecond(const RankTokens& rank, std::size_t row, std::size_t i, bool wrong) {
    const auto compare = [&](SecondShift& second, std::optional<double> should) {
      if (!should) return;  // the token is unknown
      if (rank.label(row, i) == *should)
        second.like += wrong;
      else
        ++second.unlike;
    };
    compare(counts_.of_sequence, all_.id(rank.tokens[i].next().next(), row));
    if (i + 1 < rank.tokens.size())
      compare(counts_.of_shard, all_.id(rank.tokens[i + 1].next(), row));
    else
      ++counts_.of_shard.unlike;  // the shard's last token has no label after two shifts
    if (i + 2 < rank.tokens.size())
      compare(counts_.within_shard, rank.id(row, i + 2));
    else
      ++counts_.within_shard.unlike;
  }

  void readIgnored(const RankTokens& rank, std::size_t row, std::size_t i, bool last) {
    const TokenIndex token = rank.tokens[i];
    // Documents are declared for one sequence.
    const bool told = all_.complete() && (!meant_ || meant_->documents.empty() || rank.rows() == 1);
    const auto goes_on = told ? goesOn(meant_, token) : std::nullopt;
    if (goes_on == false) return;
    if (last)
      readEnd(rank, token, row, goes_on.has_value());
    else
      ++counts_.left_out;
  }

  /// Handles the shard's last token when it has no target. It should have a target if its
  /// neighbours have one and its document continues; `declared` says whether that is declared.
  void readEnd(const RankTokens& rank, TokenIndex token, std::size_t row, bool declared) {
    const auto before = all_.label(token.previous(), row), after = all_.label(token.next(), row);
    if (!before || !after || *before < 0 || *after < 0) return;
    const bool is_sure = meant_ && (meant_->mask == MaskKind::kDocuments ||
                                    meant_->positions == PositionRule::kWholeSequence);
    const bool may_end = !declared || (!is_sure && restarted_.at(row, token.next()));
    ++(may_end ? counts_.undeclared : counts_.lost);
    counts_.sure += !may_end && is_sure;
    if (const auto behind = all_.id(token.next(), row); behind && !may_end)
      ids_.behind_lost.insert(*behind);
    if (counts_.first.isNone()) counts_.first = rank.rank;
  }

  /// Finds a balance that deals all wrong labels to the ranks.
  void readOtherCuts() {
    const auto& ranks = all_.ranks();
    const std::size_t width = ranks.front().tokens.size();
    const bool even = std::ranges::all_of(
        ranks, [&](const RankTokens& rank) { return rank.tokens.size() == width; });
    counts_.other_cut.unlike = counts_.targets;
    if (!all_.complete() || !even || counts_.wrong == 0) return;
    const auto seats = static_cast<std::int32_t>(ranks.size());
    for (const ShardLayout& layout :
         sequenceLayouts(static_cast<std::int64_t>(width) * seats, seats))
      if (const SecondShift cut = labelsIn(layout); cut.holds()) {
        counts_.other_cut = cut;
        counts_.cut = layout.balance();
        return;
      }
  }

  SecondShift labelsIn(const ShardLayout& layout) const {
    SecondShift cut;
    for (std::size_t seat = 0; seat < all_.ranks().size(); ++seat) {
      const RankTokens& rank = all_.ranks()[seat];
      const auto dealt = layout.globalFromLocal(GroupRank::of(static_cast<std::int64_t>(seat)));
      for (std::size_t row = 0; row < rank.rows(); ++row)
        for (std::size_t i = 0; i < rank.tokens.size(); ++i) {
          const auto should = all_.id(dealt[i].next(), row);
          if (rank.label(row, i) < 0 || !should) continue;
          if (rank.label(row, i) != *should)
            ++cut.unlike;
          else
            cut.like += all_.id(rank.tokens[i].next(), row) != should;
        }
    }
    return cut;
  }

  const SequenceTokens& all_;
  const IntentRecord* meant_;
  const RestartedPositions& restarted_;
  LabelCounts counts_;
  BorderIds ids_;
};

}  // namespace

SecondShift& SecondShift::operator+=(const SecondShift& more) {
  unlike += more.unlike;
  like += more.like;
  return *this;
}

LabelCounts& LabelCounts::operator+=(const LabelCounts& more) {
  for (const auto count :
       {&LabelCounts::labels, &LabelCounts::targets, &LabelCounts::wrong, &LabelCounts::within,
        &LabelCounts::wrong_within, &LabelCounts::unlike_local, &LabelCounts::lost,
        &LabelCounts::sure, &LabelCounts::undeclared, &LabelCounts::inner, &LabelCounts::left_out,
        &LabelCounts::between, &LabelCounts::alone})
    this->*count += more.*count;
  of_sequence += more.of_sequence;
  of_shard += more.of_shard;
  within_shard += more.within_shard;
  if (other_cut.like == 0) cut = more.cut;
  if (more.other_cut.like == 0 || cut == more.cut)
    other_cut += more.other_cut;
  else
    other_cut.unlike += more.other_cut.like;
  if (first.isNone()) first = more.first;
  return *this;
}

LabelCounts countLabels(const SequenceTokens& tokens, const IntentRecord* meant,
                        const RestartedPositions& restarted) {
  return LabelCounter(tokens, meant, restarted).read();
}

}  // namespace ringscope::traces
