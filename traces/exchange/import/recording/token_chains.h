// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ringscope::traces {

/// The token ids and targets of one rank, [rows, width] each.
struct OwnTokens {
  const std::vector<std::int64_t>* ids = nullptr;
  const std::vector<std::int64_t>* targets = nullptr;
  std::int64_t rows = 0;
  std::int64_t ignored = -100;  ///< target of a token without one

  std::int64_t width() const { return rows > 0 ? std::ssize(*ids) / rows : 0; }
};

/// Returns the place in the sequence of each rank's tokens, however they were dealt: a run of
/// tokens precedes a run that begins with its last target. Returns nothing unless all runs make
/// one chain, and in one way.
std::vector<std::vector<std::int64_t>> tokensByChain(const std::vector<OwnTokens>& ranks);

/// Returns the place in the sequence of each rank's tokens, whose positions begin again at each
/// packed document. Each rank has a part of each document, in the order of documents. Returns
/// nothing unless the ranks' parts of each of several documents are all its positions.
std::vector<std::vector<std::int64_t>> tokensByDocuments(
    const std::vector<std::vector<std::int64_t>>& positions);

}  // namespace ringscope::traces
