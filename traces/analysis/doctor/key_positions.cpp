// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/key_positions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <vector>

#include "traces/analysis/doctor/layer_keys.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/recompute/position_documents.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/schema/token_runs.h"
#include "traces/plan/balance.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kFewPairs = 3, kMostBatches = 4;
constexpr std::size_t kMostHeads = 2;

/// A token of a rank: its row in the layer's keys, its global index, and the place that a wrong way
/// of counting gives it.
struct Held {
  WorldRank rank;
  std::size_t row = 0, local = 0;
  std::int64_t global = 0;
};

/// A way of counting tokens that is not their order in the sequence.
struct Counting {
  KeysCount count = KeysCount::kShard;
  std::optional<ShardLayout> layout = std::nullopt;  ///< kOtherCut
  std::vector<TokenRun> documents = {};  ///< tokens are counted in each of these; none: in all
};

/// Returns the balance by which a sequence was dealt; nullopt when no balance deals it so.
std::optional<Balance> dealtBy(const SequenceTokens& sequence, std::int64_t length) {
  std::vector<DealtShard> shards;
  for (const RankTokens& own : sequence.ranks()) {
    DealtShard& shard = shards.emplace_back();
    shard.rank = GroupRank::of(static_cast<std::int32_t>(shards.size()) - 1);
    for (const TokenIndex token : own.tokens)
      shard.global_from_local.push_back({token.value(), token.value() + 1});
  }
  return findBalance(length, static_cast<std::int32_t>(shards.size()), shards);
}

/// Returns the ways of counting that differ from the sequence for these shards.
std::vector<Counting> countings(const SequenceTokens& sequence) {
  const std::int64_t size = std::ssize(sequence.ranks()),
                     length = std::ssize(sequence.ranks().front().tokens) * size;
  const auto own = dealtBy(sequence, length);
  std::vector<Counting> all = {{}};
  for (ShardLayout& layout : sequenceLayouts(length, static_cast<std::int32_t>(size)))
    if (layout.balance() != own) all.push_back({KeysCount::kOtherCut, std::move(layout)});
  return all;
}

double turned(double angle) {
  return std::abs(std::remainder(angle, 2 * std::numbers::pi));
}

/// The pairs of equal tokens that agree with one way of counting, and those that do not.
struct Votes {
  std::int64_t sequence = 0, shard = 0, both = 0, neither = 0;
  WorldRank rank;  // that has the first one of `shard`

  void add(bool as_sequence, bool as_shard, const Held& held) {
    ++(as_sequence ? (as_shard ? both : sequence) : as_shard ? shard : neither);
    if (as_shard && !as_sequence && shard == 1) rank = held.rank;
  }

  KeysCount decided() const {
    if (neither > 0 || both == 0 || (sequence > 0 && shard > 0)) return KeysCount::kUnknown;
    if (sequence >= kFewPairs) return KeysCount::kSequence;
    return shard >= kFewPairs ? KeysCount::kShard : KeysCount::kUnknown;
  }
};

/// Votes by the angles of one pair of columns. Pairs that are short or have two lengths are left
/// out, but not many of them.
Votes voteByAngle(const LayerKeys& keys, std::size_t group, std::size_t second,
                  const std::vector<std::pair<Held, Held>>& pairs) {
  const double tolerance = 1e-3 + 32 * keys.roundoff();
  Votes votes;
  std::size_t left_out = 0;
  for (const auto& [a, b] : pairs) {
    const auto angle = keys.angle(group, a.row, b.row, second);
    if (!angle) {
      ++left_out;
      continue;
    }
    const auto far = [&](std::int64_t distance) {
      return turned(*angle - static_cast<double>(distance));
    };
    const std::int64_t apart = b.global - a.global, locally = static_cast<std::int64_t>(b.local) -
                                                              static_cast<std::int64_t>(a.local);
    if (apart != locally && turned(static_cast<double>(apart - locally)) < 4 * tolerance) continue;
    // An angle grows with its position, whose rounding grows too.
    const double limit = tolerance + 0x1p-22 * static_cast<double>(std::abs(b.global) + 1);
    votes.add(far(apart) <= limit, far(locally) <= limit, b);
  }
  if (4 * left_out > pairs.size()) ++votes.neither;
  return votes;
}

/// Votes by equal keys: pairs at the same place of two shards are equal, and no other pair is.
Votes voteByEqualKeys(const LayerKeys& keys, std::size_t group,
                      const std::vector<std::pair<Held, Held>>& pairs) {
  Votes votes;
  for (const auto& [a, b] : pairs) {
    const bool same = keys.areEqual(group, a.row, b.row), there = a.local == b.local;
    // The first token of a shard can look like that of another in later layers too.
    if (there && a.local == 0) continue;
    if (there)
      votes.add(false, same, b);
    else
      votes.add(!same, !same, b);
  }
  return votes;
}

/// Returns pairs of equal tokens of one batch entry, one after another by rank and place, and by
/// place and rank.
std::vector<std::pair<Held, Held>> equalTokens(const std::vector<std::pair<double, Held>>& tokens) {
  std::vector<std::pair<Held, Held>> pairs;
  std::map<double, Held> last;
  std::map<std::pair<double, std::size_t>, Held> at_place;
  for (const auto& [id, held] : tokens) {
    if (const auto [before, first] = last.try_emplace(id, held); !first) {
      pairs.emplace_back(before->second, held);
      before->second = held;
    }
    const auto [there, alone] = at_place.try_emplace({id, held.local}, held);
    if (!alone) pairs.emplace_back(there->second, held);
  }
  return pairs;
}

/// Returns the tokens of one batch entry with their ids; empty when the layer lacks one.
std::vector<std::pair<double, Held>> tokensOf(const SequenceTokens& sequence,
                                              const LayerTensors& layer, std::size_t batch,
                                              const Counting& counting) {
  std::vector<std::pair<double, Held>> all;
  std::int32_t seat = 0;
  for (const RankTokens& own : sequence.ranks()) {
    std::vector<TokenIndex> counted;
    const TokenRun* last = nullptr;
    std::size_t begin = 0;  // of the rank's part of this document
    if (counting.layout) counted = counting.layout->globalFromLocal(GroupRank::of(seat));
    ++seat;
    for (std::size_t local = 0; local < own.tokens.size(); ++local) {
      const auto row = std::ranges::lower_bound(layer.tokens, own.tokens[local]);
      if (row == layer.tokens.end() || *row != own.tokens[local]) return {};
      if (counting.layout && local >= counted.size()) return {};
      const TokenRun* document = runWith(counting.documents, own.tokens[local]);
      if (!counting.documents.empty() && !document) return {};
      if (document != last) begin = local;
      last = document;
      const auto place =
          counting.layout ? static_cast<std::size_t>(counted[local].value()) : local - begin;
      const auto index = static_cast<std::size_t>(row - layer.tokens.begin());
      all.emplace_back(own.id(batch, local),
                       Held{own.rank, index, place,
                            own.tokens[local].value() - (document ? document->begin : 0)});
    }
  }
  return all;
}

/// Returns the votes of a head: by equal keys, and by the angles of two pairs of columns. Equal
/// keys tell only of places that two ranks have in one sequence.
std::vector<Votes> votesOf(const LayerKeys& keys, std::size_t head, std::size_t width,
                           const Counting& counting,
                           const std::vector<std::pair<Held, Held>>& pairs) {
  std::vector<Votes> votes;
  if (counting.count == KeysCount::kShard && counting.documents.empty())
    votes.push_back(voteByEqualKeys(keys, head, pairs));
  if (width > 1) votes.push_back(voteByAngle(keys, head, 1, pairs));
  if (width > 3) votes.push_back(voteByAngle(keys, head, width / 2, pairs));
  return votes;
}

KeyPositions positionsIn(const LayerTensors& layer, const SequenceTokens& sequence,
                         const Counting& counting, const Trace& trace) {
  KeyPositions positions;
  const auto width = static_cast<std::size_t>(layer.head_dim);
  const auto batches = static_cast<std::size_t>(std::min(layer.batch, kMostBatches));
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const auto pairs = equalTokens(tokensOf(sequence, layer, batch, counting));
    if (pairs.empty()) continue;
    const auto heads = std::min(static_cast<std::size_t>(layer.kv_heads), kMostHeads);
    Selection selection;
    for (std::size_t head = 0; head < heads; ++head)
      selection.groups.push_back(
          {static_cast<std::int64_t>(batch), static_cast<std::int64_t>(head)});
    const LayerKeys keys(trace, layer, selection);
    for (std::size_t head = 0; head < heads; ++head)
      for (const Votes& votes : votesOf(keys, head, width, counting, pairs)) {
        const KeysCount count = votes.decided();
        if (count == KeysCount::kUnknown || positions.count == KeysCount::kShard) continue;
        positions = {.count = count,
                     .place = {layer.pass.train_step, layer.pass.layer},
                     .rank = votes.rank,
                     .by_document = !counting.documents.empty(),
                     .pairs = std::max(votes.sequence, votes.shard)};
      }
  }
  if (positions.count == KeysCount::kShard && counting.layout) {
    positions.count = counting.count;
    positions.cut = counting.layout->balance();
  }
  return positions;
}

KeyPositions positionsIn(const LayerTensors& layer, const SequenceTokens& sequence,
                         const Trace& trace) {
  KeyPositions known;
  for (const Counting& counting : countings(sequence)) {
    const KeyPositions positions = positionsIn(layer, sequence, counting, trace);
    if (positions.count == KeysCount::kUnknown) continue;
    known = positions;
    if (known.count != KeysCount::kSequence) break;
  }
  return known;
}

KeyPositions positionsIn(const Trace& trace, const LayerCheck& check) {
  const IntentRecord* meant = trace.intent(check.pass.train_step, check.members.front());
  if (check.members.size() < 2 || check.fits == AttentionFits::kNothing ||
      (meant && meant->positions == PositionRule::kEachDocument))
    return {};
  const auto sequence = SequenceTokens::withoutLabels(trace, check.pass.train_step, check.members);
  const LayerTensors layer = findLayer(trace, check.pass, check.members);
  if (!sequence || !sequence->complete() || !layer.blocking.empty() ||
      !layer.complete(TensorKind::kK))
    return {};
  const bool alike = std::ranges::all_of(sequence->ranks(), [&](const RankTokens& own) {
    return own.rows() == static_cast<std::size_t>(layer.batch);
  });
  if (!alike) return {};
  if (!check.within_documents) return positionsIn(layer, *sequence, trace);
  const Counting by_document{KeysCount::kShard, std::nullopt,
                             documentsByPositions(trace, layer).documents};
  return by_document.documents.empty() ? KeyPositions{}
                                       : positionsIn(layer, *sequence, by_document, trace);
}

}  // namespace

KeyPositions readKeyPositions(const Readings& readings) {
  KeyPositions known;
  for (const LayerCheck& layer : readings.layers()) {
    const KeyPositions positions = positionsIn(readings.trace(), layer);
    if (positions.count == KeysCount::kSequence)
      known = positions;
    else if (positions.count != KeysCount::kUnknown)
      return positions;
  }
  return known;
}

}  // namespace ringscope::traces
