// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "traces/core/bytes.h"
#include "traces/core/place.h"

namespace ringscope::traces {

/// Element types of recorded values. Values are serialized: append, never renumber.
enum class DType : std::uint8_t {
  kFloat32 = 0,
  kFloat64,
  kBFloat16,
  kFloat16,
  kInt32,
  kInt64,
  kCount
};
const char* name(DType dtype);
std::size_t sizeOf(DType dtype);

/// Statistics over the finite elements, and how many are not finite.
struct TensorStats {
  double min = 0, max = 0, mean = 0, abs_max = 0;
  std::int64_t nan = 0, inf = 0;
};

/// One tensor as one rank had it at one place. The values are there only when the capture policy
/// kept them; the hash (XXH3 of the contiguous bytes) and the statistics are always there.
struct TensorRecord {
  std::uint64_t id = 0;  ///< unique in the trace; names the values chunk
  std::string name;      ///< "q", "block_lse", "buffer.position_ids", "grad.lm_head.weight", …
  Place place;
  std::int16_t rank = 0;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::uint64_t hash = 0;
  TensorStats stats;
  bool has_values = false;
};

/// A half-open run of consecutive global token indices.
struct TokenRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const TokenRun&, const TokenRun&) = default;
};

/// How one rank's part of one buffer was cut. Its values are the tensor "buffer.<name>".
struct ShardRecord {
  std::string buffer;
  std::int32_t train_step = 0;
  std::int16_t rank = 0;
  bool sharded = true;  ///< false: the rank made the buffer by itself
  std::int32_t seq_dim = 0;
  std::vector<std::int64_t> full_shape;  ///< empty when there was no whole buffer
  std::vector<std::int64_t> local_shape;
  std::vector<TokenRun>
      global_from_local;  ///< runs of global indices in local order; empty: unknown
};

/// What a byte of memory is used for. Values are serialized: append, never renumber.
enum class MemoryCategory : std::uint8_t {
  kWeights = 0,
  kGradients,
  kOptimizer,
  kActivations,
  kQ,
  kKv,
  kInFlight,
  kOutLse,
  kOther,
  kVerify,
  kCount
};
const char* name(MemoryCategory category);

/// Bytes that a rank holds in one category from time_ns on.
struct MemorySample {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  std::int16_t rank = 0;
  MemoryCategory category = MemoryCategory::kOther;
};

/// The error of one tensor against unsharded attention computed in fp64.
struct DiffRecord {
  bool isolated = true;  ///< false: end to end, against the unsharded training step
  Place place;           ///< train_step and layer; layer -1 for loss and parameter gradients
  std::string tensor;    ///< "out", "dk", "loss", "grad.<name>"
  double error = 0;      ///< largest absolute difference from the fp64 reference
  double noise = 0;      ///< the same for one device in the run's type: the noise floor
  double scale = 0;      ///< largest absolute value of the reference
  double multiple = 0;   ///< error in multiples of the noise floor
  std::vector<double> multiple_by_rank;   ///< per cp rank, of the rows that it owns
  std::vector<std::int64_t> worst_index;  ///< global index of the largest difference
};

/// Error beyond this multiple of the noise floor is a divergence.
inline constexpr double kNoiseLimit = 2.5;

/// A named JSON document: the run's configuration, a step's log line, the schedule, a summary.
struct Note {
  std::string key;
  std::string json;
};

}  // namespace ringscope::traces
