// SPDX-License-Identifier: Apache-2.0
// The sentences of findings about which pairs are attended: how many, on which ranks, of whose
// block.
#include <map>

#include "tests/facts/finding_facts.h"
#include "tests/facts/mistaken_pairs.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::PieceMask;

/// How often a rank attends each (query, key) pair in a pass, by the rows of its recorded pieces.
class RecordedPairs {
 public:
  RecordedPairs(const Case& c, const PlanOracle& oracle, int group, int rank, traces::Place pass)
      : oracle_(oracle), rank_(rank) {
    for (const Event& event : c.trace->events(traces::WorldRank::of(c.worldRankFor(group, rank)))) {
      traces::Place place = event.place;
      place.stage = traces::RingStep::none();
      if (event.kind != traces::EventKind::kAttend || place != pass) continue;
      pieces_.push_back({event, event.source_rank.value() % c.cp});
      each(pieces_.back(), [&](int q, int k, bool in_mask) { times_[{q, k}] += in_mask; });
    }
  }

  std::int64_t leftOut() const {
    std::int64_t pairs = 0;
    for (const int source : oracle_.ring(rank_))
      for (const int q : oracle_.attended(rank_))
        for (const int k : oracle_.attended(source))
          pairs += oracle_.allowed(q, k) && !attends(q, k);
    return pairs;
  }
  /// Returns the source of the first piece whose causal mask removes a pair that the rank should
  /// attend. The search covers the piece's rows, up to the end of its block. Returns −1 when there
  /// is no such piece.
  int firstCut() const {
    for (const Piece& piece : pieces_) {
      const auto queries = oracle_.attended(rank_), keys = oracle_.attended(piece.source);
      bool cuts = false;
      for (int row = piece.event.q_begin; row < piece.event.q_end; ++row)
        for (auto key_row = static_cast<std::size_t>(piece.event.k_begin); key_row < keys.size();
             ++key_row) {
          const int q = queries.at(static_cast<std::size_t>(row)), k = keys[key_row];
          cuts = cuts || (oracle_.allowed(q, k) && !attends(q, k));
        }
      if (cuts && piece.event.mask == PieceMask::kCausal) return piece.source;
    }
    return -1;
  }

 private:
  struct Piece {
    const Event& event;
    int source;
  };

  bool attends(int q, int k) const {
    const auto found = times_.find({q, k});
    return found != times_.end() && found->second > 0;
  }
  /// Tiles are masked by order and window alone: documents end at the rows of pieces.
  bool isIn(const Event& event, int row, int key_row, int q, int k) const {
    const int of_query = row - event.q_begin, of_key = key_row - event.k_begin;
    if (event.mask == PieceMask::kCausal) return of_key <= of_query;
    if (event.mask == PieceMask::kStrict) return of_key < of_query;
    return event.mask == PieceMask::kFull || oracle_.allowed(q, k);
  }
  template <typename Take>
  void each(const Piece& piece, const Take& take) const {
    const auto queries = oracle_.attended(rank_), keys = oracle_.attended(piece.source);
    const Event& event = piece.event;
    for (int row = event.q_begin; row < event.q_end; ++row)
      for (int key_row = event.k_begin; key_row < event.k_end; ++key_row) {
        const int q = queries.at(static_cast<std::size_t>(row)),
                  k = keys.at(static_cast<std::size_t>(key_row));
        take(q, k, isIn(event, row, key_row, q, k));
      }
  }

  const PlanOracle& oracle_;
  int rank_;
  std::vector<Piece> pieces_;
  std::map<std::pair<int, int>, int> times_;
};

class PairFacts : FindingFacts {
 public:
  PairFacts(const Case& c, const traces::Finding& finding)
      : FindingFacts(c, finding), pairs_(oracle_, c.mistake) {}

  void ofOwnBlocksOnly() const {
    ASSERT_TRUE(
        says("No piece of any rank is of another rank's block. Rank (\\d+) leaves out ([\\d,]+) "
             "of the ([\\d,]+) \\(query, key\\) pairs? that the declared mask has for its "
             "queries\\." +
             extent()));
    expectLeftOut({1, 2, 3, 4, 5});
  }

  void ofJumps() const {
    ASSERT_TRUE(
        says("Rank (\\d+) leaves out ([\\d,]+) of the ([\\d,]+) \\(query, key\\) pairs? that the "
             "declared mask has for its queries: those of rows before a jump of its tokens with "
             "rows behind it, in the block of every rank\\. Where tokens do not jump no pair is "
             "missing\\." +
             extent()));
    expectLeftOut({1, 2, 3, 4, 5});
  }

  void ofFutureBlocks() const {
    ASSERT_TRUE(
        says("Of ([\\d,]+) \\(query, key\\) pairs? that rank (\\d+) attends the key comes after "
             "its query, which the declared mask does not allow; all are in blocks of other "
             "ranks, the first in that of rank (\\d+)\\." +
             extent()));
    expectTooMany({2, 1, 0, 4, 5});
    EXPECT_EQ(number(3), world(firstSource()));
  }

  void ofMask() const {
    ASSERT_TRUE(
        says("Rank (\\d+) attends ([\\d,]+) \\(query, key\\) pairs? whose key lies outside the "
             "declared window of ([\\d,]+) tokens?; the mask has ([\\d,]+) for its queries\\." +
             extent()));
    expectTooMany({1, 2, 4, 5, 6});
    EXPECT_EQ(number(3), oracle_.plan().window);
  }

  void ofDocuments() const {
    ASSERT_TRUE(
        says("Rank (\\d+) attends ([\\d,]+) \\(query, key\\) pairs? of two documents, or of "
             "padding; the declared mask has ([\\d,]+) for its queries\\." +
             extent()));
    expectTooMany({1, 2, 3, 4, 5});
  }

  void ofPadding() const {
    ASSERT_TRUE(
        says("Rank (\\d+) attends ([\\d,]+) \\(query, key\\) pairs? of which one is padding "
             "behind a document; the declared mask has ([\\d,]+) for its queries\\." +
             extent()));
    expectTooMany({1, 2, 3, 4, 5});
  }

  void ofCuts() const {
    ASSERT_TRUE(
        says("Pieces of rank (\\d+) with a causal mask leave out ([\\d,]+) \\(query, key\\) pairs? "
             "that the declared mask has, of ([\\d,]+) for its queries; the first such piece is of "
             "the block of rank (\\d+)\\." +
             extent()));
    int ranks = 0, first = -1;
    traces::Place pass = f_.place;
    pass.stage = traces::RingStep::none();
    for (int rank = oracle_.plan().cp; rank-- > 0;) {
      if (RecordedPairs(c_, oracle_, group_, rank, pass).leftOut() == 0) continue;
      ++ranks;
      first = rank;
    }
    expectPlace({1, 2, 3, 5, 6}, first, ranks);
    const RecordedPairs recorded(c_, oracle_, group_, rank_, pass);
    EXPECT_EQ(number(2), recorded.leftOut());
    EXPECT_EQ(number(4), world(recorded.firstCut()));
    EXPECT_EQ(f_.place.stage.value(), oracle_.findStep(rank_, recorded.firstCut(), false));
  }

 private:
  /// Which of the pattern's parentheses are the rank, the pairs, what the mask has, and how many
  /// ranks of how many do so; 0: none.
  struct Said {
    std::size_t rank, pairs, wanted, ranks, of;
  };

  static std::string extent() {
    return " ([\\d,]+) of (\\d+) ranks (?:does|do) so\\.( Of some pieces the rows alone are "
           "recorded; their tile masks are taken for the declared order and window\\.)?";
  }

  void expectPlace(const Said& at, int first, int ranks) const {
    EXPECT_EQ(number(at.rank), f_.rank.value());
    EXPECT_EQ(rank_, first) << "the first that does so";
    if (at.wanted) {
      EXPECT_EQ(number(at.wanted), pairs_.wanted(rank_));
    }
    EXPECT_EQ(number(at.ranks), ranks);
    EXPECT_EQ(number(at.of), oracle_.plan().cp);
    EXPECT_EQ(evidence_.find(" does so.") != std::string::npos, ranks == 1);
    EXPECT_EQ(words_[at.of + 1].matched, f_.confidence == traces::Confidence::kLikely);
    if (words_[at.of + 1].matched) {
      EXPECT_TRUE(hasTiles()) << "no piece has a tile mask";
    }
    EXPECT_EQ(f_.place.layer.value(), 0);
    EXPECT_EQ(f_.place.direction, traces::Direction::kForward);
    const std::regex plural("(?:^|[^\\d,])1 \\(query, key\\) pairs"),
        singular("(?:[\\d,]{2,}|[02-9]) \\(query, key\\) pair ");
    EXPECT_FALSE(std::regex_search(evidence_, plural) || std::regex_search(evidence_, singular));
    expectFirstSequence();
  }
  /// The finding names the first sequence in which the mistake changes a pair, in the order of
  /// groups and then of steps.
  void expectFirstSequence() const {
    if (f_.rule == "causal_on_every_block") return;
    for (int group = 0; group <= group_; ++group)
      for (int step = 0; step < (group < group_ ? c_.steps : step_); ++step)
        EXPECT_FALSE(MistakenPairs(c_.oracle(step, group), c_.mistake).changesAny())
            << "already at step " << step << " of group " << group;
  }
  bool hasTiles() const {
    for (int rank = 0; rank < oracle_.plan().cp; ++rank)
      for (const Event& event : c_.trace->events(traces::WorldRank::of(world(rank))))
        if (event.kind == traces::EventKind::kAttend && event.mask == PieceMask::kTileMask)
          return true;
    return false;
  }
  template <typename Count>
  void expectRanks(const Said& at, const Count& pairs) const {
    int ranks = 0, first = -1;
    for (int rank = oracle_.plan().cp; rank-- > 0;) {
      if (pairs(rank) == 0) continue;
      ++ranks;
      first = rank;
    }
    expectPlace(at, first, ranks);
    EXPECT_EQ(number(at.pairs), pairs(rank_));
  }
  void expectLeftOut(const Said& at) const {
    expectRanks(at, [this](int rank) { return pairs_.leftOut(rank); });
    EXPECT_TRUE(f_.place.stage.isNone());
  }
  void expectTooMany(const Said& at) const {
    expectRanks(at, [this](int rank) { return pairs_.tooMany(rank); });
    EXPECT_EQ(f_.place.stage.value(), oracle_.findStep(rank_, firstSource(), false));
  }
  int firstSource() const {
    for (int step = 0; step < oracle_.ringSteps(); ++step)
      for (const int source : oracle_.sources(rank_, step, false))
        if (pairs_.tooMany(rank_, source) > 0) return source;
    return -1;
  }

  MistakenPairs pairs_;
};

}  // namespace

bool cutsPairs(const Case& c) {
  for (int group = 0; group < c.groups(); ++group)
    for (int step = 0; step < c.steps; ++step)
      for (int rank = 0; rank < c.cp; ++rank)
        if (RecordedPairs(c, c.oracle(step, group), group, rank,
                          {step, traces::Layer::of(0), traces::Direction::kForward, {}})
                .leftOut() > 0)
          return true;
  return false;
}

const Sentences& pairSentences() {
  static const Sentences kSentences = {
      {"ring_bypassed", compared<PairFacts, &PairFacts::ofOwnBlocksOnly>},
      {"positions_read_as_documents", compared<PairFacts, &PairFacts::ofJumps>},
      {"no_skip_future_block", compared<PairFacts, &PairFacts::ofFutureBlocks>},
      {"mask_dropped", compared<PairFacts, &PairFacts::ofMask>},
      {"documents_ignored", compared<PairFacts, &PairFacts::ofDocuments>},
      {"padding_unmasked", compared<PairFacts, &PairFacts::ofPadding>},
      {"causal_on_every_block", compared<PairFacts, &PairFacts::ofCuts>},
  };
  return kSentences;
}

}  // namespace ringscope::facts
