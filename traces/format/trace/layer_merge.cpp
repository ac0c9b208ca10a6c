// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/layer_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "traces/format/trace/own_tokens.h"
#include "traces/format/trace/rows.h"

namespace ringscope::traces {
namespace {

/// The most events of one rank in one pass of a layer. No run has as many, and each costs reading a
/// block.
constexpr std::size_t kMostEvents = 8192;

/// The recorded out and lse of one rank, in the layout of the model.
struct Own {
  Rows out, lse;
  std::vector<TokenIndex> tokens;
};

std::optional<Own> ownOf(const Trace& trace, const Place& place, WorldRank rank) {
  auto out = Rows::vectors(trace, trace.findTensor({TensorKind::kOut}, place, rank));
  auto lse = Rows::scalars(trace, trace.findTensor({TensorKind::kLse}, place, rank));
  if (!out || !lse || !lse->matches(*out)) return std::nullopt;
  auto tokens = ownTokens(trace, place.train_step, rank, out->queries());
  if (static_cast<std::int64_t>(tokens.size()) != out->queries()) return std::nullopt;
  return Own{std::move(*out), std::move(*lse), std::move(tokens)};
}

/// The combination of the blocks of one layer. Every member function returns false when something
/// does not match.
class Merger {
 public:
  Merger(const Trace& trace, std::int32_t train_step, Layer layer,
         const std::vector<WorldRank>& members)
      : trace_(trace),
        place_{train_step, layer, Direction::kForward, RingStep::none()},
        members_(members) {}

  bool addOwn() {
    std::vector<Own> all;
    for (const WorldRank rank : members_) {
      auto own = ownOf(trace_, place_, rank);
      if (!own) return false;
      result.tokens.insert(result.tokens.end(), own->tokens.begin(), own->tokens.end());
      all.push_back(std::move(*own));
    }
    if (all.empty()) return false;
    const Rows& first = all.front().out;
    result.batch = first.batch();
    result.heads = first.heads();
    result.width = first.width();
    // Checks the extents before anything is allocated for them: the product of one rank's batch and
    // another rank's tokens can be far more than what was recorded.
    for (const Own& own : all)
      if (!fits(own)) return false;
    std::sort(result.tokens.begin(), result.tokens.end());
    if (std::adjacent_find(result.tokens.begin(), result.tokens.end()) != result.tokens.end())
      return false;  // a token with two owners
    const std::size_t rows =
        static_cast<std::size_t>(result.batch * result.heads) * result.tokens.size();
    result.lse.resize(rows);
    result.share.resize(rows);
    result.blocks.resize(rows);
    for (auto* values : {&result.out, &result.weighted, &result.plain})
      values->resize(rows * static_cast<std::size_t>(result.width));
    for (const Own& own : all) put(own);
    return true;
  }

  bool addBlocks() {
    for (const WorldRank rank : members_) {
      const ScheduleRecord* schedule =
          trace_.schedule(place_.train_step, rank, Direction::kForward);
      const auto rows = rowsFor(schedule, rank);
      const std::int64_t head = schedule ? schedule->q_head_begin - firstHead() : 0;
      Place last = place_;
      last.stage = RingStep::of(std::numeric_limits<RingStep::Value>::max());
      const auto events = trace_.eventsAt(place_, last, rank);
      if (events.size() > kMostEvents) return false;
      for (const Event& event : events)
        if (event.kind == EventKind::kAttend && event.pass != Pass::kRecompute &&
            !addBlock(event, rows, head))
          return false;
    }
    return true;
  }

  LayerMerge result;

 private:
  /// Returns the lowest head of the model that any member attends. Head 0 of the ranks' tensors is
  /// this head.
  std::int64_t firstHead() const {
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    for (const WorldRank rank : members_)
      if (const auto* s = trace_.schedule(place_.train_step, rank, Direction::kForward))
        lowest = std::min(lowest, s->q_head_begin);
    return lowest;
  }

  /// Returns the index of a token; the number of tokens when no rank owns it.
  std::size_t indexOf(TokenIndex token) const {
    const auto at = std::lower_bound(result.tokens.begin(), result.tokens.end(), token);
    const bool there = at != result.tokens.end() && *at == token;
    return there ? static_cast<std::size_t>(at - result.tokens.begin()) : result.tokens.size();
  }

  bool fits(const Own& own) const {
    return own.out.batch() == result.batch && own.out.heads() == result.heads &&
           own.out.width() == result.width;
  }

  void put(const Own& own) {
    for (std::int64_t b = 0; b < result.batch; ++b)
      for (std::int64_t h = 0; h < result.heads; ++h)
        for (std::size_t s = 0; s < own.tokens.size(); ++s) {
          const std::size_t at = result.row(b, h, indexOf(own.tokens[s]));
          const auto row = own.out.row(b, h, static_cast<std::int64_t>(s));
          std::copy(row.begin(), row.end(), result.out.begin() + static_cast<std::ptrdiff_t>(at));
          result.lse[at / static_cast<std::size_t>(result.width)] =
              own.lse.row(b, h, static_cast<std::int64_t>(s))[0];
        }
  }

  /// Returns the token indices of the rows that the rank attends, in local order.
  std::vector<std::size_t> rowsFor(const ScheduleRecord* schedule, WorldRank rank) const {
    std::vector<std::size_t> rows;
    if (!schedule) {
      const auto* out = trace_.findTensor({TensorKind::kOut}, place_, rank);
      for (const TokenIndex token : ownTokens(trace_, place_.train_step, rank, out->shape[2]))
        rows.push_back(indexOf(token));
      return rows;
    }
    for (const TokenIndex token : attendedTokens(*schedule, result.tokens.size() + 1))
      rows.push_back(indexOf(token));
    return rows;
  }

  bool addBlock(const Event& event, const std::vector<std::size_t>& rows, std::int64_t first_head) {
    TensorKey key{{TensorKind::kBlockOut}, event.place, event.microbatch, event.pass, event.rank,
                  event.source_rank,       event.piece};
    const auto block = Rows::vectors(trace_, trace_.findTensor(key));
    key.tensor.kind = TensorKind::kBlockLse;
    const auto block_lse = Rows::scalars(trace_, trace_.findTensor(key));
    if (!block || !block_lse || !block->matches(*block_lse) || block->batch() != result.batch ||
        block->width() != result.width || first_head < 0 ||
        first_head + block->heads() > result.heads || event.q_begin < 0 ||
        block->queries() != event.q_end - event.q_begin ||
        event.q_end > static_cast<std::int64_t>(rows.size()))
      return false;
    for (std::int64_t b = 0; b < block->batch(); ++b)
      for (std::int64_t h = 0; h < block->heads(); ++h)
        for (std::int64_t s = 0; s < block->queries(); ++s) {
          const std::size_t token = rows[static_cast<std::size_t>(event.q_begin + s)];
          if (token == result.tokens.size()) return false;
          addRow(result.row(b, first_head + h, token), block->row(b, h, s),
                 block_lse->row(b, h, s)[0]);
        }
    return true;
  }

  void addRow(std::size_t at, std::span<const double> block, double block_lse) {
    // the block has no key for this row
    if (block_lse == -std::numeric_limits<double>::infinity()) return;
    const std::size_t row = at / static_cast<std::size_t>(result.width);
    const double weight = std::exp(block_lse - result.lse[row]);
    ++result.blocks[row];
    result.share[row] += weight;
    for (const double value : block) {
      result.weighted[at] += weight * value;
      result.plain[at++] += value;
    }
  }

  const Trace& trace_;
  Place place_;
  const std::vector<WorldRank>& members_;
};

}  // namespace

std::optional<LayerMerge> mergeLayer(const Trace& trace, std::int32_t train_step, Layer layer,
                                     const std::vector<WorldRank>& members) {
  Merger merger(trace, train_step, layer, members);
  if (!merger.addOwn() || !merger.addBlocks()) return std::nullopt;
  return std::move(merger.result);
}

}  // namespace ringscope::traces
