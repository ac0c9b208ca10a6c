// SPDX-License-Identifier: Apache-2.0
// Mistakes in the order of tokens and heads.
#include <algorithm>
#include <memory>

#include "traces/analysis/verify/hypotheses/made.h"
#include "traces/plan/balance.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

/// The tokens of each rank in local order, as indices into the layer's tokens.
using RankTokens = std::vector<std::vector<std::size_t>>;

/// An order of tokens: the token for which each token of the layer is taken.
struct TokenOrder {
  std::shared_ptr<const std::vector<std::size_t>> taken_for;
  std::string words;  ///< "contiguous shards"
};

RankTokens ownTokens(const HypothesisSetting& setting) {
  RankTokens all;
  for (const RankTensor& part : setting.layer.tensors.at(TensorKind::kQ)) {
    if (std::ssize(part.heads) != setting.layer.heads ||
        (!all.empty() && part.tokens.size() != all.front().size()))
      return {};
    all.push_back(part.tokens);
  }
  return all;
}

TokenOrder orderOf(const RankTokens& own, const RankTokens& other, std::string words) {
  std::vector<std::size_t> taken_for(own.size() * own.front().size());
  for (std::size_t rank = 0; rank < own.size(); ++rank)
    for (std::size_t i = 0; i < own[rank].size(); ++i) taken_for[own[rank][i]] = other[rank][i];
  return {std::make_shared<const std::vector<std::size_t>>(std::move(taken_for)), std::move(words)};
}

/// Returns other orders that jobs confuse with their own.
std::vector<TokenOrder> otherOrders(const HypothesisSetting& setting) {
  const RankTokens own = ownTokens(setting);
  const auto length = std::ssize(setting.layer.tokens);
  if (own.size() < 2 || setting.layer.tokens.back().value() != length - 1) return {};
  std::vector<TokenOrder> orders;
  for (const ShardLayout& layout : sequenceLayouts(length, static_cast<std::int32_t>(own.size()))) {
    RankTokens other(own.size());
    for (std::size_t rank = 0; rank < own.size(); ++rank)
      for (const TokenIndex token : layout.globalFromLocal(GroupRank::of(static_cast<int>(rank))))
        other[rank].push_back(static_cast<std::size_t>(token.value()));
    orders.push_back(
        orderOf(own, other, std::string("shards with balance ") + name(layout.balance())));
  }
  const RankTokens turned(own.rbegin(), own.rend());
  orders.push_back(orderOf(own, turned, "shards in the reverse order of ranks"));
  for (const bool next : {true, false}) {
    RankTokens other = own;
    std::rotate(other.begin(), next ? other.begin() + 1 : other.end() - 1, other.end());
    orders.push_back(
        orderOf(own, other, next ? "shards of the next ranks" : "shards of the previous ranks"));
  }
  RankTokens halves = own;
  for (auto& tokens : halves)
    std::rotate(tokens.begin(), tokens.begin() + std::ssize(tokens) / 2, tokens.end());
  orders.push_back(orderOf(own, halves, "shards whose halves are swapped"));
  return orders;
}

/// Every query attends the keys that the mask allows for the tokens for which both are taken.
BlockedAttention takenFor(const HypothesisSetting& setting, const TokenOrder& order, bool queries,
                          bool keys) {
  BlockedAttention how =
      attending(setting, [&setting, taken_for = order.taken_for, queries, keys](
                             const PlannedBlocks::Seat*, std::size_t query, std::size_t key) {
        return setting.allows(setting.mask, queries ? (*taken_for)[query] : query,
                              keys ? (*taken_for)[key] : key);
      });
  how.how = std::string(queries && keys ? "tokens"
                        : keys          ? "keys"
                                        : "queries") +
            " are taken for those of " + order.words;
  return how;
}

/// The rows of a selection of one (batch entry, KV head), for all tokens.
Selection allRows(const HypothesisSetting& setting, const std::vector<HeadGroup>& groups) {
  Selection all{groups, {}};
  for (std::size_t row = 0; row < setting.layer.tokens.size(); ++row) all.rows.push_back(row);
  return all;
}

/// Every row has the result of the token for which it is taken.
BlockedAttention putBackBy(const HypothesisSetting& setting, const TokenOrder& order,
                           const std::vector<double>& q) {
  BlockedAttention how =
      attending(setting, [&setting, taken_for = order.taken_for](
                             const PlannedBlocks::Seat*, std::size_t query, std::size_t key) {
        return setting.allows(setting.mask, (*taken_for)[query], key);
      });
  const auto width = setting.layer.head_dim;
  const auto rows = std::ssize(setting.layer.tokens);
  for (std::int64_t head = 0; head < std::ssize(q) / width / rows; ++head)
    for (const std::size_t row : setting.selection.rows) {
      const auto from =
          q.begin() + (head * rows + static_cast<std::ptrdiff_t>((*order.taken_for)[row])) * width;
      how.q.insert(how.q.end(), from, from + width);
    }
  how.how = "rows of out are those of " + order.words;
  return how;
}

/// A query head and a KV head for each query head.
struct HeadOrder {
  std::vector<std::int64_t> q, kv;
  bool may_be_meant = false;  ///< by a model that is only ever used so
};

std::vector<HeadOrder> headOrders(std::int64_t heads, std::int64_t kv_heads, std::int64_t ranks) {
  std::vector<HeadOrder> orders;
  const std::int64_t group = heads / kv_heads, each = std::max<std::int64_t>(1, heads / ranks);
  const auto add = [&](auto&& q, auto&& kv) {
    HeadOrder& order = orders.emplace_back();
    for (std::int64_t head = 0; head < heads; ++head) {
      order.q.push_back(q(head));
      order.kv.push_back(kv(head));
    }
  };
  const auto self = [](std::int64_t head) { return head; };
  const auto returned = [&](auto&& from) {
    add(from, [&](std::int64_t head) { return from(head) / group; });
  };
  add(self, [&](std::int64_t head) { return head % kv_heads; });
  orders.back().may_be_meant = true;
  add(self, [&](std::int64_t head) { return kv_heads - 1 - head / group; });
  for (const std::int64_t by : {std::int64_t{1}, kv_heads - 1})
    add(self, [&, by](std::int64_t head) { return (head / group + by) % kv_heads; });
  returned([&](std::int64_t head) { return heads - 1 - head; });
  for (const std::int64_t by : {each, heads - each})
    returned([&, by](std::int64_t head) { return (head + by) % heads; });
  if (heads % ranks != 0) return orders;
  returned([&](std::int64_t head) { return head % ranks * each + head / ranks; });
  returned([&](std::int64_t head) { return head % each * ranks + head / each; });
  return orders;
}

/// Describes the first of these query heads that is not its own, or attends another KV head.
std::string describeOrder(const HeadOrder& order, std::int64_t first, std::int64_t group) {
  for (std::int64_t head = first; head < first + group; ++head) {
    const std::int64_t q = order.q[static_cast<std::size_t>(head)],
                       kv = order.kv[static_cast<std::size_t>(head)];
    if (q != head)
      return "head " + std::to_string(head) + " of out is that of query head " + std::to_string(q);
    if (kv != head / group)
      return "query head " + std::to_string(head) + " attends KV head " + std::to_string(kv) +
             " and not KV head " + std::to_string(head / group);
  }
  return "heads have another order";
}

/// Appends one head of [groups, heads, rows, width].
void appendHead(std::vector<double>& to, const std::vector<double>& from, std::int64_t head,
                std::int64_t size) {
  to.insert(to.end(), from.begin() + head * size, from.begin() + (head + 1) * size);
}

}  // namespace

std::vector<BlockedAttention> otherLayout(const HypothesisSetting& setting) {
  std::vector<BlockedAttention> all;
  const Selection rows = allRows(setting, setting.selection.groups);
  const std::vector<double> q = setting.layer.values(setting.trace, TensorKind::kQ, rows).values;
  for (const TokenOrder& order : otherOrders(setting)) {
    for (const auto& [queries, keys] : {std::pair(true, true), {true, false}, {false, true}})
      all.push_back(takenFor(setting, order, queries, keys));
    all.push_back(putBackBy(setting, order, q));
  }
  return all;
}

std::vector<BlockedAttention> otherHeads(const HypothesisSetting& setting) {
  const LayerTensors& layer = setting.layer;
  std::vector<HeadGroup> groups;
  const HeadGroup own = setting.selection.groups.front();
  for (std::int64_t head = 0; head < layer.kv_heads; ++head) groups.push_back({own.batch, head});
  const auto values = [&](TensorKind kind) {
    return layer.values(setting.trace, kind, {groups, setting.selection.rows}).values;
  };
  const std::vector<double> q = values(TensorKind::kQ), k = values(TensorKind::kK),
                            v = values(TensorKind::kV);
  const auto q_size = std::ssize(q) / layer.heads, kv_size = std::ssize(k) / layer.kv_heads;
  std::vector<BlockedAttention> all;
  for (const HeadOrder& order :
       headOrders(layer.heads, layer.kv_heads, static_cast<std::int64_t>(layer.ranks))) {
    BlockedAttention& how = all.emplace_back(asPlanned(setting));
    for (std::int64_t h = 0; h < layer.groupSize(); ++h) {
      const auto head = static_cast<std::size_t>(own.kv_head * layer.groupSize() + h);
      appendHead(how.q, q, order.q[head], q_size);
      appendHead(how.k, k, order.kv[head], kv_size);
      appendHead(how.v, v, order.kv[head], kv_size);
    }
    how.how = describeOrder(order, own.kv_head * layer.groupSize(), layer.groupSize());
    how.may_be_meant = order.may_be_meant;
  }
  return all;
}

}  // namespace ringscope::traces
