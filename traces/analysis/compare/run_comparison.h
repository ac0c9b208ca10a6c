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

/// The property by which a tensor of two runs was compared.
enum class ComparedBy {
  kValues,      ///< number by number, whatever ranks had the values
  kHashes,      ///< equal hashes of the same ranks' parts: bit for bit the same
  kStatistics,  ///< largest magnitude, mean and non-finite values of all ranks' parts together
};

/// The agreement of two runs in a tensor, or in all tensors.
enum class Agreement : std::uint8_t {
  kSame,      ///< bit for bit, or by statistics
  kRounding,  ///< the difference is at most that of equal runs, or both runs were verified and are
              ///< within their limits of the same unsharded attention
  kUnknown,   ///< a difference, and nothing tells whether it is more than rounding
  kDiffers,   ///< a difference beyond rounding, or in values without rounding: ids, positions, NaN
  kCount
};
template <>
struct EnumNames<Agreement> {
  static constexpr const char* kWhat = "agreement";
  static constexpr std::array<const char*, 4> kNames = {"same", "within_rounding", "not_judged",
                                                        "differs"};
};

/// A place in the model: the sequence of the whole batch, the head of the whole model, and the
/// token of the sequence. A field is nullopt when a tensor has no such dimension.
struct RowPlace {
  std::optional<std::int64_t> sequence, head, token;
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

/// One tensor (or number) of two runs at the same logical place.
struct TensorDifference {
  Place place;         ///< training step, layer, direction; no ring step
  std::string tensor;  ///< "input_ids", "q", "loss", "grad.lm_head.weight"
  ComparedBy by = ComparedBy::kValues;
  std::int64_t rows = 0;       ///< number of compared rows; a number is one row
  std::int64_t differing = 0;  ///< number of compared rows with at least one difference
  std::int64_t unmatched = 0;  ///< number of rows that only one of the runs has
  /// The largest difference of a row. By values it is the 2-norm of the row's difference ÷ the root
  /// mean square of the 2-norms of all rows of the second run. It is infinite when only one of the
  /// rows is finite. For token ids, labels and positions it is the share of values that differ. By
  /// statistics it is the larger difference of largest magnitude and mean ÷ the largest magnitude.
  double worst = 0;
  RowPlace at;            ///< the worst row; for ids, labels and positions the first that differs
  WorldRank rank, other;  ///< rank that had the row in the first and in the second run
  std::optional<double> floor;  ///< `worst` of a pair of equal runs
  bool explained = false;       ///< both runs were verified, and rounding explains every difference
                                ///< so far
  bool beyond = false;          ///< at or after the first tensor that is beyond its limit in a run

  Agreement agreement() const;
  /// Reports whether rounding is not known to explain the difference.
  bool differs() const { return agreement() >= Agreement::kUnknown; }
};

/// A run of tokens of a sequence on one rank whose position ids rise by one.
struct HeldPositions {
  TokenIndex token;  ///< first token
  std::int64_t tokens = 0;
  std::int64_t position = 0;  ///< position id of the first token
  WorldRank rank;
  bool differs = false;  ///< differs from the other run's position ids
};

/// The position ids of the first sequence in both runs, by token, for a training step in which they
/// differ.
struct PositionPair {
  std::int32_t train_step = 0;
  std::vector<HeldPositions> run, other;
};

/// The costs of a training step, or of one direction of a layer in it, in both runs.
struct CostPair {
  Place place;
  Costs run, other;
};

/// The comparison of two runs of one model on the same data by logical place. Their meshes and
/// strategies may differ.
struct RunComparison {
  std::vector<std::string> settings;  ///< "cp: 2 against 1": all differences of the configurations
  std::vector<TensorDifference> all;  ///< in the order of the data flow: inputs, forward, loss,
                                      ///< backward
  std::vector<PositionPair> positions;  ///< by training step
  std::vector<CostPair> costs;          ///< all places that both have, in the order of visiting
  std::vector<std::string> left_out;  ///< what could not be compared, and why: "loss: the other …"
  std::vector<std::string> remarks;   ///< sentences that help to read the other results
  bool has_floor = false;
  /// A sentence that says why verification does not tell what rounding explains, and what would
  /// help. Empty: verification tells it for all steps.
  std::string unjudged;

  std::int64_t count(Agreement agreement) const;
  /// Returns the worst agreement of all tensors; kUnknown when there are none.
  Agreement verdict() const;
  /// Returns the costs of a place in both runs; null when one of them does not have it.
  const CostPair* costsAt(const Place& place) const;
  /// Returns the first difference: one that is known to exceed rounding if there is any, else the
  /// first that differs(). Null when there is none.
  const TensorDifference* first() const;
  /// Returns the difference that is largest compared with those before it; null when nothing
  /// differs.
  const TensorDifference* steepest() const;
};

/// Compares two runs. `floor` is a second recording of the same run as `other`, or null. Damaged
/// values are left out and reported. Throws inputError when nothing can be compared. If `go_on`
/// stops it early, the result must not be used.
RunComparison compareRuns(const Trace& run, const Trace& other, const Trace* floor = nullptr,
                          const GoOn& go_on = {});

}  // namespace ringscope::traces
