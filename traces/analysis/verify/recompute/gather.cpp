// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/gather.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "traces/analysis/verify/recompute/stated_scores.h"
#include "traces/format/core/to_index.h"
#include "traces/format/trace/admission.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {
namespace {

constexpr TensorKind kOthers[] = {TensorKind::kDout, TensorKind::kOut, TensorKind::kLse,
                                  TensorKind::kDq,   TensorKind::kDk,  TensorKind::kDv};

bool ofBackward(TensorKind kind) {
  return kind == TensorKind::kDout || kind == TensorKind::kDq || kind == TensorKind::kDk ||
         kind == TensorKind::kDv;
}

std::string listed(const std::vector<WorldRank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + toString(ranks[i]);
  return text;
}

/// Returns advice that names the capture which would have kept the values of attention tensors.
std::string capture(const Trace& trace, std::int32_t train_step) {
  const RunSpec* run = trace.run();
  if (run && run->command == Command::kAttend) return "; attend keeps only its results";
  return "; " + valuesAdvice(trace, train_step, "keeps them");
}

/// The tokens and heads of one recorded tensor.
struct Extent {
  std::vector<TokenIndex> tokens;
  std::vector<std::int64_t> heads;
};

/// The search for the tensors of one layer.
class Finder {
 public:
  Finder(const Trace& trace, const LayerPass& pass, const std::vector<WorldRank>& members)
      : trace_(trace), members_(members) {
    found_.pass = pass;
    found_.ranks = members.size();
    for (const WorldRank rank : members)
      if (const ScheduleRecord* s = trace.schedule(pass.train_step, rank, Direction::kForward,
                                                   pass.layer, pass.microbatch)) {
        first_head_ = std::min(first_head_, s->q_head_begin);
        for (const std::int64_t head : s->kv_heads)
          first_kv_head_ = std::min(first_kv_head_, std::max<std::int64_t>(head, 0));
      }
  }

  LayerTensors find() {
    if (members_.empty()) found_.blocking.push_back("no rank is recorded");
    for (const TensorKind kind : kAttended) collect(kind, found_.blocking);
    if (!found_.blocking.empty()) return std::move(found_);
    for (const TensorKind kind : kOthers) collect(kind, found_.missing);
    if (!setShape()) {
      found_.blocking.push_back(
          "the recorded q, k and v of the ranks do not fit together as one layer");
      return std::move(found_);
    }
    for (auto& [kind, parts] : found_.tensors) place(kind, parts);
    found_.scores = statedScores(trace_, found_.pass.layer, found_.head_dim).rule;
    findSinks();
    return std::move(found_);
  }

 private:
  const TensorRecord* recordOf(TensorKind kind, WorldRank rank) const {
    const bool backward = ofBackward(kind);
    TensorKey key{{kind},
                  {found_.pass.train_step, found_.pass.layer,
                   backward ? Direction::kBackward : Direction::kForward, RingStep::none()}};
    key.microbatch = found_.pass.microbatch;
    key.pass = backward ? Pass::kBackward : Pass::kForward;
    key.rank = rank;
    return trace_.findTensor(key);
  }

  /// Returns the tokens and heads of a tensor; nullopt when it has another shape or its tokens are
  /// not recorded.
  std::optional<Extent> extentOf(const TensorRecord& record) const {
    const std::size_t dimensions = record.tensor.kind == TensorKind::kLse ? 3 : 4;
    if (record.shape.size() != dimensions ||
        std::ranges::any_of(record.shape, [](std::int64_t extent) { return extent <= 0; }))
      return std::nullopt;
    const std::int64_t heads = record.shape[1], rows = record.shape[2];
    Extent extent;
    extent.tokens =
        ownTokens(trace_, found_.pass.train_step, record.rank, rows, found_.pass.microbatch);
    extent.heads.resize(toIndex(heads));
    std::iota(extent.heads.begin(), extent.heads.end(), 0);
    if (!extent.tokens.empty()) return extent;
    const auto* schedule = trace_.schedule(found_.pass.train_step, record.rank, Direction::kForward,
                                           found_.pass.layer, found_.pass.microbatch);
    if (!schedule) return std::nullopt;
    extent.tokens = attendedTokens(*schedule, toIndex(rows) + 1);
    if (extent.tokens.size() != toIndex(rows)) return std::nullopt;
    if (isOfKeys(record.tensor.kind)) {
      extent.heads = schedule->kv_heads;
      if (std::ranges::any_of(extent.heads,
                              [](std::int64_t head) { return head < 0 || head > kMaxTokens; }))
        return std::nullopt;
      for (std::int64_t& head : extent.heads) head -= first_kv_head_;
    } else {
      for (std::int64_t& head : extent.heads) head += schedule->q_head_begin - first_head_;
    }
    if (extent.heads.size() != toIndex(heads)) return std::nullopt;
    return extent;
  }

  void collect(TensorKind kind, std::vector<std::string>& problems) {
    std::vector<WorldRank> absent, without_values, unplaced;
    for (const WorldRank rank : members_) {
      const TensorRecord* record = recordOf(kind, rank);
      if (!record) {
        absent.push_back(rank);
      } else if (!record->has_values) {
        without_values.push_back(rank);
      } else if (auto extent = extentOf(*record)) {
        found_.tensors[kind].push_back({rank, record, {}, extent->heads});
        extents_.emplace(record, std::move(*extent));
      } else {
        unplaced.push_back(rank);
      }
    }
    const std::string what = std::string(name(kind)) + " of ";
    const std::string keeps = capture(trace_, found_.pass.train_step);
    if (!absent.empty()) problems.push_back(what + listed(absent) + " is not recorded" + keeps);
    if (!without_values.empty())
      problems.push_back("the values of " + what + listed(without_values) + " were not kept" +
                         keeps);
    if (!unplaced.empty())
      problems.push_back("it is not recorded which tokens and heads " + what + listed(unplaced) +
                         " is of; a shard or a schedule of each rank says so");
  }

  /// Sets tokens, owners and heads from q, k and v. Returns false when a token or head occurs twice
  /// or is missing.
  bool setShape() {
    const auto& q = found_.tensors[TensorKind::kQ];
    found_.batch = q.front().record->shape[0];
    found_.head_dim = q.front().record->shape[3];
    found_.heads = headsFor(TensorKind::kQ);
    found_.kv_heads = headsFor(TensorKind::kK);
    if (found_.kv_heads != headsFor(TensorKind::kV) || found_.heads % found_.kv_heads != 0)
      return false;
    std::map<TokenIndex, WorldRank> owners;
    for (const RankTensor& part : q)
      for (const TokenIndex token : extents_.at(part.record).tokens)
        owners.try_emplace(token, part.rank);
    for (const auto& [token, owner] : owners) {
      found_.tokens.push_back(token);
      found_.owners.push_back(owner);
    }
    return std::ranges::all_of(kAttended, [this](TensorKind kind) { return covers(kind); });
  }

  std::int64_t headsFor(TensorKind kind) const {
    std::int64_t heads = 0;
    for (const RankTensor& part : found_.tensors.at(kind))
      for (const std::int64_t head : part.heads) heads = std::max(heads, head + 1);
    return heads;
  }

  /// Reports whether every row of the layer is recorded by exactly one rank. For K and V at least
  /// one rank is enough, because ranks that share heads may hold the same KV head.
  bool covers(TensorKind kind) {
    const std::int64_t heads = isOfKeys(kind) ? found_.kv_heads : found_.heads;
    double rows = 0;
    for (const RankTensor& part : found_.tensors.at(kind))
      rows += static_cast<double>(part.heads.size()) *
              static_cast<double>(extents_.at(part.record).tokens.size());
    // Checks the extents before memory is allocated for them: the product of one rank's heads and
    // another rank's tokens can be far more than what was recorded.
    const auto all = static_cast<double>(heads) * static_cast<double>(found_.tokens.size());
    if (rows < all || (rows > all && !isOfKeys(kind))) return false;
    std::vector<bool> seen(toIndex(heads) * found_.tokens.size());
    for (RankTensor& part : found_.tensors.at(kind)) {
      if (!fits(part)) return false;
      for (const std::int64_t head : part.heads)
        for (const std::size_t token : part.tokens)
          seen[toIndex(head) * found_.tokens.size() + token] = true;
    }
    return std::ranges::all_of(seen, [](bool there) { return there; });
  }

  /// Reports whether a part belongs to this layer, and sets the indices of its rows.
  bool fits(RankTensor& part) {
    const auto& shape = part.record->shape;
    const std::int64_t heads = isOfKeys(part.record->tensor.kind) ? found_.kv_heads : found_.heads;
    if (shape[0] != found_.batch || (shape.size() == 4 && shape[3] != found_.head_dim))
      return false;
    if (std::ranges::any_of(part.heads, [&](std::int64_t h) { return h < 0 || h >= heads; }))
      return false;
    part.tokens.clear();
    for (const TokenIndex token : extents_.at(part.record).tokens) {
      const auto where = std::lower_bound(found_.tokens.begin(), found_.tokens.end(), token);
      if (where == found_.tokens.end() || *where != token) return false;
      part.tokens.push_back(static_cast<std::size_t>(where - found_.tokens.begin()));
    }
    return true;
  }

  void place(TensorKind kind, std::vector<RankTensor>& parts) {
    const auto wrong = std::stable_partition(parts.begin(), parts.end(),
                                             [this](RankTensor& part) { return fits(part); });
    std::vector<WorldRank> ranks;
    for (auto part = wrong; part != parts.end(); ++part) ranks.push_back(part->rank);
    parts.erase(wrong, parts.end());
    if (!ranks.empty())
      found_.missing.push_back(std::string(name(kind)) + " of " + listed(ranks) +
                               " does not fit the shapes of q, k and v");
    if (kind == TensorKind::kK || kind == TensorKind::kV || !recordedTwice(parts)) return;
    found_.missing.push_back("rows of " + std::string(name(kind)) +
                             " are recorded by several ranks");
    parts.clear();
  }

  /// Reports whether two of these parts, which all belong to the layer, hold the same row.
  bool recordedTwice(const std::vector<RankTensor>& parts) const {
    std::vector<bool> seen(toIndex(found_.heads) * found_.tokens.size());
    for (const RankTensor& part : parts)
      for (const std::int64_t head : part.heads)
        for (const std::size_t token : part.tokens) {
          auto row = seen[toIndex(head) * found_.tokens.size() + token];
          if (row) return true;
          row = true;
        }
    return false;
  }

  /// Finds the sinks. If one rank has sinks, all ranks must have the same sinks, because the rows
  /// of one head belong to one attention.
  void findSinks() {
    bool some = trace_.run() && trace_.run()->sinks;
    std::vector<WorldRank> absent, unlike;
    for (const WorldRank rank : members_) {
      const TensorRecord* record = recordOf(TensorKind::kSinks, rank);
      some = some || record;
      if (!record || !record->has_values) {
        absent.push_back(rank);
        continue;
      }
      if (!found_.sinks) found_.sinks = record;
      if (record->hash != found_.sinks->hash || record->shape != std::vector{found_.heads})
        unlike.push_back(rank);
    }
    if (some && !absent.empty())
      found_.blocking.push_back("the attention sinks of " + listed(absent) + " are not recorded" +
                                capture(trace_, found_.pass.train_step));
    if (!unlike.empty())
      found_.blocking.push_back("the attention sinks of " + listed(unlike) +
                                " are not those of the other ranks, a number a query head");
  }

  const Trace& trace_;
  const std::vector<WorldRank>& members_;
  std::int64_t first_head_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t first_kv_head_ = std::numeric_limits<std::int64_t>::max();
  std::map<const TensorRecord*, Extent> extents_;
  LayerTensors found_;
};

}  // namespace

bool isOfKeys(TensorKind kind) {
  return kind == TensorKind::kK || kind == TensorKind::kV || kind == TensorKind::kDk ||
         kind == TensorKind::kDv;
}

bool LayerTensors::complete(TensorKind kind) const {
  const auto parts = tensors.find(kind);
  return parts != tensors.end() && parts->second.size() == ranks;
}

LayerTensors findLayer(const Trace& trace, const LayerPass& pass,
                       const std::vector<WorldRank>& members) {
  return Finder(trace, pass, members).find();
}

}  // namespace ringscope::traces
