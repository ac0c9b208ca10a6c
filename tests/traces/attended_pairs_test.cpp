// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/attended_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ringscope::traces {
namespace {

/// Counts pairs by looking at every pair of tokens.
std::vector<std::vector<std::int64_t>> countedPairs(const RunSpec& run) {
  const auto owner = [&](std::int64_t token) -> std::size_t {
    const std::int64_t size = run.seq_len / run.cp;
    if (run.balance == Balance::kStriped) return static_cast<std::size_t>(token % run.cp);
    if (run.balance == Balance::kNone) return static_cast<std::size_t>(token / size);
    const std::int64_t chunk = token / (size / 2);
    return static_cast<std::size_t>(std::min(chunk, 2 * run.cp - 1 - chunk));
  };
  const auto ranks = static_cast<std::size_t>(run.cp);
  std::vector<std::vector<std::int64_t>> pairs(ranks, std::vector<std::int64_t>(ranks, 0));
  for (std::int64_t q = 0; q < run.seq_len; ++q)
    for (std::int64_t k = 0; k < run.seq_len; ++k) {
      const bool causal = run.mask == MaskKind::kFull || k <= q;
      if (causal && (run.window == 0 || k > q - run.window)) ++pairs[owner(q)][owner(k)];
    }
  return pairs;
}

TEST(AttendedPairsTest, EqualACountOverAllPairsOfTokens) {
  for (const int cp : {1, 2, 3, 4, 16})
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
      for (const std::int64_t window : {0, 1, 5, 17, 200})
        for (const MaskKind mask : {MaskKind::kFull, MaskKind::kCausal, MaskKind::kWindow}) {
          RunSpec run;
          run.cp = cp;
          run.balance = balance;
          run.mask = mask;
          run.window = mask == MaskKind::kWindow ? std::max<std::int64_t>(1, window) : 0;
          run.seq_len = 6 * cp;
          EXPECT_EQ(attendedPairs(run), countedPairs(run))
              << "cp " << cp << ", " << name(balance) << ", " << name(mask) << " " << run.window;
        }
}

TEST(AttendedPairsTest, HeadTailEvensOutWhatNoBalanceDoesNot) {
  RunSpec run;
  run.cp = 4;
  run.seq_len = 4096;
  const auto work = [&](Balance balance, std::size_t rank) {
    run.balance = balance;
    const std::vector<std::vector<std::int64_t>> pairs = attendedPairs(run);
    std::int64_t sum = 0;
    for (const std::int64_t of_source : pairs[rank]) sum += of_source;
    return static_cast<double>(sum);
  };
  EXPECT_NEAR(work(Balance::kHeadTail, 3) / work(Balance::kHeadTail, 0), 1, 0.001);
  EXPECT_NEAR(work(Balance::kNone, 3) / work(Balance::kNone, 0), 7, 0.01);
}

}  // namespace
}  // namespace ringscope::traces
