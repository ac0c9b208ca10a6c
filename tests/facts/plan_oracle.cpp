// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/plan_oracle.h"

#include <algorithm>
#include <utility>

namespace ringscope::facts {
namespace {

std::vector<int> range(int begin, int end) {
  std::vector<int> tokens;
  for (int t = begin; t < end; ++t) tokens.push_back(t);
  return tokens;
}

void append(std::vector<int>& to, const std::vector<int>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

int wrapped(int rank, int size) {
  return (rank % size + size) % size;
}

}  // namespace

PlanOracle::PlanOracle(Plan plan) : plan_(std::move(plan)) {
  own_.resize(static_cast<std::size_t>(plan_.cp));
  owner_.resize(static_cast<std::size_t>(plan_.length));
  deal();
  for (int rank = 0; rank < plan_.cp; ++rank)
    for (const int token : own(rank)) owner_[static_cast<std::size_t>(token)] = rank;
  std::ranges::sort(dealt_);
}

void PlanOracle::deal() {
  const int size = plan_.length / plan_.cp;
  if (plan_.dealing == Dealing::kHeadTail) return dealHalves({0, plan_.length});
  if (plan_.dealing == Dealing::kPerDocument) {
    for (const Span& slot : plan_.slots) dealHalves(slot);
    return;
  }
  for (int rank = 0; rank < plan_.cp; ++rank) {
    std::vector<int> tokens;
    if (plan_.dealing == Dealing::kContiguous)
      tokens = range(rank * size, (rank + 1) * size);
    else
      for (int token = rank; token < plan_.length; token += plan_.cp) tokens.push_back(token);
    own_[static_cast<std::size_t>(rank)] = tokens;
    dealt_.push_back(tokens);
  }
}

/// Cuts the slot into 2·cp parts. Each rank gets one part from the head and the part at the same
/// distance from the tail.
void PlanOracle::dealHalves(const Span& slot) {
  const int parts = 2 * plan_.cp, size = (slot.end - slot.begin) / parts;
  for (int rank = 0; rank < plan_.cp; ++rank)
    for (const int part : {rank, parts - 1 - rank}) {
      const auto tokens = range(slot.begin + part * size, slot.begin + (part + 1) * size);
      append(own_[static_cast<std::size_t>(rank)], tokens);
      dealt_.push_back(tokens);
    }
}

std::optional<Span> PlanOracle::documentAt(int token) const {
  if (plan_.documents.empty()) return Span{0, plan_.length};
  for (const Span& document : plan_.documents)
    if (token >= document.begin && token < document.end) return document;
  return std::nullopt;
}

bool PlanOracle::allowed(int query, int key) const {
  if (plan_.causal && key > query) return false;
  if (plan_.window > 0 && key <= query - plan_.window) return false;
  const auto of_query = documentAt(query), of_key = documentAt(key);
  return of_query && of_key && of_query->begin == of_key->begin;
}

int PlanOracle::findOwner(int token) const {
  return owner_[static_cast<std::size_t>(token)];
}

std::vector<int> PlanOracle::sharers(int rank) const {
  const int first = rank / plan_.ulysses * plan_.ulysses;
  return range(first, first + plan_.ulysses);
}

std::vector<int> PlanOracle::ring(int rank) const {
  std::vector<int> members;
  for (int r = rank % plan_.ulysses; r < plan_.cp; r += plan_.ulysses) members.push_back(r);
  return members;
}

std::vector<int> PlanOracle::attended(int rank) const {
  if (plan_.ulysses == 1) return own(rank);
  std::vector<int> tokens;
  for (const int sharer : sharers(rank)) append(tokens, own(sharer));
  // Stripes stay beside each other; all else is brought into the order of the sequence.
  if (plan_.dealing != Dealing::kStriped) std::ranges::sort(tokens);
  return tokens;
}

std::vector<int> PlanOracle::sources(int rank, int step, bool backward) const {
  const auto members = ring(rank);
  const int size = ringSize(), at = rank / plan_.ulysses;
  std::vector<int> order;
  for (int i = 0; i < size; ++i) {
    const bool against = backward && plan_.own_last && !plan_.gathers;
    order.push_back(
        members[static_cast<std::size_t>(wrapped(against ? at + 1 + i : at - i, size))]);
  }
  if (plan_.gathers) return step == 0 ? order : std::vector<int>();
  return {order[static_cast<std::size_t>(step)]};
}

std::vector<int> PlanOracle::attended(int rank, int step, bool backward) const {
  std::vector<int> attended;
  for (const int source : sources(rank, step, backward))
    if (pairs(rank, source) > 0) attended.push_back(source);
  return attended;
}

int PlanOracle::findStep(int rank, int source, bool backward) const {
  for (int step = 0; step < ringSteps(); ++step)
    for (const int held : sources(rank, step, backward))
      if (held == source) return step;
  return -1;
}

std::int64_t PlanOracle::pairs(int rank, int source) const {
  std::int64_t count = 0;
  const auto keys = attended(source);
  for (const int q : attended(rank))
    for (const int k : keys) count += allowed(q, k);
  return count;
}

std::set<int> PlanOracle::queries(int rank, const std::vector<int>& sources) const {
  std::set<int> found;
  for (const int source : sources) {
    const auto keys = attended(source);
    for (const int q : attended(rank))
      for (const int k : keys)
        if (allowed(q, k)) found.insert(q);
  }
  return found;
}

std::set<int> PlanOracle::keys(int rank, int source) const {
  std::set<int> found;
  const auto queries = attended(rank);
  for (const int k : attended(source))
    for (const int q : queries)
      if (allowed(q, k)) found.insert(k);
  return found;
}

Reason PlanOracle::reason(int rank, int source) const {
  bool in_reach = false, by_window = true, by_documents = true;
  for (const int q : attended(rank))
    for (const int k : attended(source)) {
      if (allowed(q, k)) return Reason::kAttends;
      if (plan_.causal && k > q) continue;
      in_reach = true;
      const auto of_query = documentAt(q), of_key = documentAt(k);
      by_window = by_window && plan_.window > 0 && k <= q - plan_.window;
      by_documents = by_documents && !(of_query && of_key && of_query->begin == of_key->begin);
    }
  if (!in_reach) return Reason::kFuture;
  return by_window ? Reason::kWindow : by_documents ? Reason::kDocuments : Reason::kSeveral;
}

Reason PlanOracle::reason(int rank, const std::vector<int>& sources) const {
  const Reason first = reason(rank, sources.front());
  for (const int source : sources)
    if (reason(rank, source) != first) return Reason::kSeveral;
  return first;
}

/// A query head's KV head goes with it. Messages have one shape, so where ranks would need unequal
/// numbers every query head gets a copy.
int PlanOracle::kvHeadsEach() const {
  const int group = plan_.heads / plan_.tp / kvHeadsOfRank(), each = headsEach();
  if (each % group == 0) return each / group;
  return group % each == 0 ? 1 : each;
}

std::vector<Hop> PlanOracle::hops(int rank, int step, bool backward) const {
  std::vector<Hop> hops;
  const auto members = ring(rank);
  const int size = ringSize(), at = rank / plan_.ulysses;
  const std::int64_t batch = plan_.batch, width = plan_.width;
  const std::int64_t rows = std::int64_t{2} * batch * kvHeadsEach() * (plan_.length / size);
  const std::int64_t kv = rows * (plan_.fp8 ? 4 + width : width * plan_.element_bytes);
  const std::int64_t sums = rows * width * plan_.sum_bytes;
  const bool against = backward && plan_.own_last;
  const int next = members[static_cast<std::size_t>(wrapped(against ? at - 1 : at + 1, size))];
  for (const int other : members) {
    if (other == rank || step > 0 || !(plan_.gathers || plan_.gathers_once)) continue;
    hops.push_back({"kv", rank, other, rank, kv});
    if (plan_.gathers && backward) hops.push_back({"dkv", rank, other, other, sums});
  }
  if (!plan_.gathers && size > 1) {
    const int held = sources(rank, step, backward).front();
    const bool last = step + 1 == size;
    if (!plan_.gathers_once && !last) hops.push_back({"kv", rank, next, held, kv});
    if (backward && !(last && plan_.own_last)) hops.push_back({"dkv", rank, next, held, sums});
  }
  const std::int64_t one = batch * headsEach() * (plan_.length / plan_.cp),
                     kv_one = 2 * batch * kvHeadsEach() * (plan_.length / plan_.cp);
  for (const int other : sharers(rank)) {
    if (other == rank || step > 0) continue;
    auto heads = [&](std::int64_t bytes) { hops.push_back({"heads", rank, other, rank, bytes}); };
    heads((backward ? one : one + kv_one) * width * plan_.element_bytes);  // dout, or q, k and v
    if (!backward) heads(one * width * plan_.element_bytes);               // out
    heads(backward ? (one + kv_one) * width * plan_.sum_bytes : one * plan_.sum_bytes);
  }
  std::ranges::sort(hops);
  return hops;
}

std::vector<std::vector<int>> PlanOracle::chunks(bool owners_known) const {
  const bool whole = plan_.cp == 1;  // one rank deals nothing
  if (!whole && (owners_known || plan_.ulysses == 1 || plan_.dealing == Dealing::kStriped))
    return dealt_;
  // Only the tokens that a rank attends with are known, so neighbours that always go together form
  // one chunk.
  std::vector<std::vector<int>> joined;
  for (int token = 0; token < plan_.length; ++token) {
    const bool same =
        token > 0 && findOwner(token) / plan_.ulysses == findOwner(token - 1) / plan_.ulysses;
    if (!same) joined.emplace_back();
    joined.back().push_back(token);
  }
  return joined;
}

}  // namespace ringscope::facts
