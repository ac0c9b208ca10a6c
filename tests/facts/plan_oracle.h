// SPDX-License-Identifier: Apache-2.0
// Computes the meaning of a plan token by token, from its definitions alone. Nothing here may use
// the engine, the read model or a view. Sequences are so short that every pair can be checked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ringscope::facts {

struct Span {
  int begin = 0, end = 0;
};

enum class Dealing { kContiguous, kHeadTail, kStriped, kPerDocument };
/// Why a rank attends nothing of a block.
enum class Reason { kAttends, kFuture, kWindow, kDocuments, kSeveral };

/// A plan in plain numbers: of the sequence as it is dealt, padding included.
struct Plan {
  int dp = 1, tp = 1, cp = 1;
  int ulysses = 1;            ///< neighbours that share heads
  bool gathers = false;       ///< every block comes at ring step 0 (strategy all_gather)
  bool gathers_once = false;  ///< KV is fetched at the first ring step (rotate allgather)
  bool own_last = false;      ///< backward ends with the rank's own block
  Dealing dealing = Dealing::kContiguous;
  int length = 0;
  bool causal = false;
  int window = 0;               ///< 0: none
  std::vector<Span> documents;  ///< empty: one
  std::vector<Span> slots;      ///< what per-document dealing deals, without gaps
  int heads = 1, kv_heads = 1, width = 8, batch = 1;
  int element_bytes = 4, sum_bytes = 4;
  bool fp8 = false;
};

/// A message of one rank in one ring step.
struct Hop {
  std::string payload;
  int from = 0, to = 0, source = 0;  ///< cp ranks; whose block or heads
  std::int64_t bytes = 0;
  auto operator<=>(const Hop&) const = default;
};

/// Answers about one group of cp ranks; ranks are cp ranks.
class PlanOracle {
 public:
  explicit PlanOracle(Plan plan);

  const Plan& plan() const { return plan_; }
  int ringSize() const { return plan_.cp / plan_.ulysses; }
  int ringSteps() const { return plan_.gathers ? 1 : ringSize(); }

  bool allowed(int query, int key) const;
  /// Tokens that a rank owns, in its local order.
  const std::vector<int>& own(int rank) const { return own_[static_cast<std::size_t>(rank)]; }
  /// Tokens that it attends with: those of all who share heads with it.
  std::vector<int> attended(int rank) const;
  int findOwner(int token) const;
  std::vector<int> sharers(int rank) const;
  /// Returns the ranks that pass KV around, in the order of the ring.
  std::vector<int> ring(int rank) const;
  /// Returns the ranks whose blocks this rank holds at a ring step.
  std::vector<int> sources(int rank, int step, bool backward) const;
  /// Returns the sources with at least one key that this rank attends.
  std::vector<int> attended(int rank, int step, bool backward) const;
  /// The ring step in which a rank has a block.
  int findStep(int rank, int source, bool backward) const;

  std::int64_t pairs(int rank, int source) const;
  /// Tokens of its queries that see a key of one of these blocks.
  std::set<int> queries(int rank, const std::vector<int>& sources) const;
  /// Tokens of the block's keys that some query of the rank sees.
  std::set<int> keys(int rank, int source) const;
  Reason reason(int rank, int source) const;
  Reason reason(int rank, const std::vector<int>& sources) const;
  std::vector<Hop> hops(int rank, int step, bool backward) const;

  /// Query heads that a rank attends, of its tp rank's; and how many KV heads go with them.
  int firstHead(int rank) const { return rank % plan_.ulysses * headsEach(); }
  int headsEach() const { return plan_.heads / plan_.tp / plan_.ulysses; }
  int kvHeadsEach() const;
  int kvHeadsOfRank() const { return std::max(1, plan_.kv_heads / plan_.tp); }

  /// Parts of the sequence that are dealt as one. `owners_known`: the trace tells whose tokens are
  /// whose among ranks that share heads.
  std::vector<std::vector<int>> chunks(bool owners_known) const;
  /// The document of a token; nothing: padding.
  std::optional<Span> documentAt(int token) const;

 private:
  void deal();
  void dealHalves(const Span& slot);

  Plan plan_;
  std::vector<std::vector<int>> own_;
  std::vector<std::vector<int>> dealt_;  ///< chunks in the order of their first tokens
  std::vector<int> owner_;
};

}  // namespace ringscope::facts
