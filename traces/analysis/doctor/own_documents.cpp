// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/own_documents.h"

#include <algorithm>
#include <array>

#include "traces/analysis/doctor/attended_blocks.h"
#include "traces/analysis/verify/recompute/restarted_positions.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kFewTokens = 2, kLastRows = 4;

/// Reports whether a row is attention of all of its rank's tokens, or of those up to itself.
bool attendsOwnAlone(const AttendedBlock& own, std::size_t head, std::size_t token,
                     double tolerance) {
  const std::size_t kv = head / (own.q.heads() / own.k.heads());
  const auto q = own.q.at(0, head, token), out = own.out.at(0, head, token);
  return std::ranges::any_of(std::array{token + 1, own.k.tokens()}, [&](std::size_t end) {
    return attendPart(q, own, own, 0, kv, 0, end).distance(out) <= tolerance;
  });
}

/// Reports whether the last rows of each rank attend its own tokens alone.
bool attendOwnAlone(const std::vector<AttendedBlock>& ranks, double tolerance) {
  return std::ranges::all_of(ranks, [&](const AttendedBlock& own) {
    const std::size_t tokens = own.q.tokens();
    if (tokens < kFewTokens || own.k.tokens() != tokens) return false;
    for (std::size_t token = tokens - std::min(tokens, kLastRows); token < tokens; ++token)
      for (const std::size_t head : {std::size_t{0}, own.q.heads() - 1})
        if (!attendsOwnAlone(own, head, token, tolerance)) return false;
    return true;
  });
}

}  // namespace

bool mayHaveOwnDocuments(const Trace& trace, std::int32_t train_step,
                         const std::vector<WorldRank>& members) {
  if (members.size() < 2) return false;
  if (RestartedPositions(trace, train_step, members).onEveryRank()) return true;
  for (const Place& place : firstAttentions(trace, 2)) {
    if (place.train_step != train_step) continue;
    for (const bool tokens_first : {false, true}) {
      const auto ranks = readBlocksAt(trace, place, members, tokens_first);
      if (ranks.size() > 1 && attendOwnAlone(ranks, rowTolerance(trace, place))) return true;
    }
  }
  return false;
}

}  // namespace ringscope::traces
