// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/mistaken_pairs.h"

#include <algorithm>

namespace ringscope::facts {
namespace {

/// The plan whose mask is the mistake's.
Plan mistakenPlan(Plan plan, const std::string& mistake) {
  if (mistake == "mask_dropped") plan.window = 0;
  if (mistake == "documents_ignored") plan.documents.clear();
  if (mistake == "padding_unmasked")
    for (std::size_t d = 0; d < plan.documents.size(); ++d)
      plan.documents[d].end =
          d + 1 < plan.documents.size() ? plan.documents[d + 1].begin : plan.length;
  return plan;
}

}  // namespace

MistakenPairs::MistakenPairs(const PlanOracle& right, const std::string& mistake)
    : right_(right),
      wrong_(mistakenPlan(right.plan(), mistake)),
      how_(mistake == "ring_bypassed"                 ? How::kOwnOnly
           : mistake == "no_skip_future_block"        ? How::kOthersWhole
           : mistake == "positions_read_as_documents" ? How::kEndsAtJumps
                                                      : How::kByPlan) {
  const auto ranks = static_cast<std::size_t>(right.plan().cp);
  tokens_.reserve(ranks);
  parts_.reserve(ranks);
  for (int rank = 0; rank < right.plan().cp; ++rank) {
    tokens_.push_back(right.attended(rank));
    std::vector<int> parts;
    parts.reserve(tokens_.back().size());
    for (std::size_t row = 0; row < tokens_.back().size(); ++row) {
      const bool jumps = row > 0 && tokens_.back()[row] != tokens_.back()[row - 1] + 1;
      parts.push_back(row == 0 ? 0 : parts.back() + jumps);
    }
    parts_.push_back(std::move(parts));
  }
}

bool MistakenPairs::wants(int rank, std::size_t query_row, int source, std::size_t key_row) const {
  return right_.allowed(tokens_[static_cast<std::size_t>(rank)][query_row],
                        tokens_[static_cast<std::size_t>(source)][key_row]);
}

bool MistakenPairs::attends(int rank, std::size_t query_row, int source,
                            std::size_t key_row) const {
  if (how_ == How::kOthersWhole && source != rank) return true;
  if (how_ == How::kOwnOnly && source != rank) return false;
  if (how_ == How::kEndsAtJumps && partsFor(rank)[query_row] != partsFor(rank)[key_row])
    return false;
  return wrong_.allowed(tokens_[static_cast<std::size_t>(rank)][query_row],
                        tokens_[static_cast<std::size_t>(source)][key_row]);
}

template <typename Holds>
std::int64_t MistakenPairs::count(int rank, int source, Holds holds) const {
  std::int64_t pairs = 0;
  const std::size_t rows = tokens_[static_cast<std::size_t>(rank)].size(),
                    keys = tokens_[static_cast<std::size_t>(source)].size();
  for (std::size_t q = 0; q < rows; ++q)
    for (std::size_t k = 0; k < keys; ++k) pairs += holds(q, k);
  return pairs;
}

std::int64_t MistakenPairs::wanted(int rank) const {
  std::int64_t pairs = 0;
  for (const int source : right_.ring(rank)) pairs += right_.pairs(rank, source);
  return pairs;
}

std::int64_t MistakenPairs::leftOut(int rank) const {
  std::int64_t pairs = 0;
  for (const int source : right_.ring(rank))
    pairs += count(rank, source, [&](std::size_t q, std::size_t k) {
      return wants(rank, q, source, k) && !attends(rank, q, source, k);
    });
  return pairs;
}

/// When blocks are attended whole, only the surplus pairs whose key comes after the query are
/// counted.
std::int64_t MistakenPairs::tooMany(int rank, int source) const {
  const auto& queries = tokens_[static_cast<std::size_t>(rank)];
  const auto& keys = tokens_[static_cast<std::size_t>(source)];
  return count(rank, source, [&](std::size_t q, std::size_t k) {
    const bool counts = how_ != How::kOthersWhole || keys[k] > queries[q];
    return counts && attends(rank, q, source, k) && !wants(rank, q, source, k);
  });
}

std::int64_t MistakenPairs::tooMany(int rank) const {
  std::int64_t pairs = 0;
  for (const int source : right_.ring(rank)) pairs += tooMany(rank, source);
  return pairs;
}

bool MistakenPairs::changesAny() const {
  for (int rank = 0; rank < right_.plan().cp; ++rank)
    if (leftOut(rank) > 0 || tooMany(rank) > 0) return true;
  return false;
}

bool MistakenPairs::crossesDocuments() const {
  for (int q = 0; q < right_.plan().length; ++q)
    for (int k = 0; k < right_.plan().length; ++k) {
      const auto of_query = right_.documentAt(q), of_key = right_.documentAt(k);
      if (of_query && of_key && of_query->begin != of_key->begin && wrong_.allowed(q, k))
        return true;
    }
  return false;
}

}  // namespace ringscope::facts
