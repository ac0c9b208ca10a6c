// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/compare/costs.h"
#include "traces/analysis/compare/go_on.h"
#include "traces/format/schema/place.h"

namespace ringscope::traces {
class Trace;

/// What a tensor of two runs was compared by.
enum class ComparedBy {
  kValues,      ///< number by number, whatever ranks had them
  kHashes,      ///< equal hashes of the same ranks' parts: bit for bit the same
  kStatistics,  ///< largest size, mean and non-finite numbers of all ranks' parts together
};

/// Whether two runs agree in a tensor, or in all tensors.
enum class Agreement : std::uint8_t {
  kSame,      ///< bit for bit, or by statistics
  kRounding,  ///< they differ by no more than equal runs do, or both were verified and are within
              ///< their limits of the same unsharded attention
  kUnknown,   ///< they differ, and nothing tells whether by more than rounding
  kDiffers,   ///< by more than rounding, or in what has no rounding: ids, positions, NaN
  kCount
};
template <>
struct EnumNames<Agreement> {
  static constexpr const char* kWhat = "agreement";
  static constexpr std::array<const char*, 4> kNames = {"same", "within_rounding", "not_judged",
                                                        "differs"};
};

/// A place of the model: which sequence of the whole batch, head of the whole model, token of the
/// sequence. None where a tensor has no such thing.
struct RowPlace {
  std::optional<std::int64_t> sequence, head, token;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

/// One tensor (or number) of two runs at the same logical place.
struct TensorDifference {
  Place place;         ///< training step, layer, direction; no ring step
  std::string tensor;  ///< "input_ids", "q", "loss", "grad.lm_head.weight"
  ComparedBy by = ComparedBy::kValues;
  std::int64_t rows = 0;       ///< that were compared; a number is one row
  std::int64_t differing = 0;  ///< of those, in which any number differs
  std::int64_t unmatched = 0;  ///< that one of the two has alone
  /// Of the worst row: the 2-norm of its difference ÷ the root mean square of the 2-norms of all
  /// rows of the second run. Infinite where one is finite and the other is not. Of token ids,
  /// labels and positions the share that differs; by statistics the larger difference of largest
  /// size and mean ÷ the largest size.
  double worst = 0;
  RowPlace at;            ///< the worst row; of ids, labels and positions the first that differs
  WorldRank rank, other;  ///< who had it in the first and in the second run
  std::optional<double> floor;  ///< `worst` of a pair of equal runs
  bool explained = false;       ///< both runs were verified, and up to here rounding explains all
  bool beyond = false;          ///< at or after the first tensor that is beyond its limit in a run

  Agreement agreement() const;
  /// Rounding is not known to explain it.
  bool differs() const { return agreement() >= Agreement::kUnknown; }
};

/// Consecutive tokens of a sequence that one rank had, whose position ids rise by one.
struct HeldPositions {
  TokenIndex token;  ///< the first
  std::int64_t tokens = 0;
  std::int64_t position = 0;  ///< of the first
  WorldRank rank;
  bool differs = false;  ///< from the other run's
};

/// The position ids of the first sequence in both runs, by token; only where any differs.
struct PositionPair {
  std::int32_t train_step = 0;
  std::vector<HeldPositions> run, other;
};

/// What a training step, or one direction of a layer in it, took of both runs.
struct CostPair {
  Place place;
  Costs run, other;
};

/// Two runs of one model on the same data, by logical place: neither meshes nor strategies need be
/// equal.
struct RunComparison {
  std::vector<std::string> settings;  ///< "cp: 2 against 1": all that differs of the configurations
  std::vector<TensorDifference> all;  ///< along the data's way: inputs, forward, loss, backward
  std::vector<PositionPair> positions;  ///< by training step
  std::vector<CostPair> costs;          ///< of all places that both have, in the order of visiting
  std::vector<std::string> left_out;  ///< what could not be compared, and why: "loss: the other …"
  std::vector<std::string> remarks;   ///< sentences: what to bear in mind in reading the rest
  bool has_floor = false;
  /// A sentence: why verification does not tell what rounding explains, and what would tell. Empty:
  /// it tells for all steps.
  std::string unjudged;

  std::int64_t count(Agreement agreement) const;
  /// Of all tensors together, the worst. Of no tensor: kUnknown.
  Agreement verdict() const;
  /// What this place took of both; null where one of them does not have it.
  const CostPair* costsAt(const Place& place) const;
  /// The first that differs(); of those that are known to differ if there are any. Null: none.
  const TensorDifference* first() const;
  /// Where differences grow most from what was compared before it: null where nothing differs.
  const TensorDifference* steepest() const;
};

/// `floor`: a second recording of what `other` is a recording of; null: there is none. Values that
/// are damaged are left out, which is said. Throws inputError where nothing can be compared. When
/// `go_on` ends it early, what it returns is worth nothing.
RunComparison compareRuns(const Trace& run, const Trace& other, const Trace* floor = nullptr,
                          const GoOn& go_on = {});

}  // namespace ringscope::traces
