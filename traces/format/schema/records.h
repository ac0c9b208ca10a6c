// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/core/bytes.h"
#include "traces/format/schema/fields.h"
#include "traces/format/schema/place.h"
#include "traces/format/schema/tensor_key.h"

namespace ringscope::traces {

/// The element type of recorded values. Values are serialized: append, never renumber.
enum class DType : std::uint8_t {
  kFloat32 = 0,
  kFloat64,
  kBFloat16,
  kFloat16,
  kInt32,
  kInt64,
  kCount
};
template <>
struct EnumNames<DType> {
  static constexpr const char* kWhat = "type";
  static constexpr std::array<const char*, 6> kNames = {"float32", "float64", "bfloat16",
                                                        "float16", "int32",   "int64"};
};
std::size_t byteSize(DType dtype);

/// The statistics over the finite elements, and the numbers of NaN and infinite elements.
struct TensorStats {
  double min = 0, max = 0, mean = 0, abs_max = 0;
  std::int64_t nan = 0, inf = 0;
};

/// The function that computed a hash. Values are serialized: append, never renumber.
enum class HashAlgorithm : std::uint8_t { kMixSum64 = 0, kDotSum64, kGridSum64, kCount };
template <>
struct EnumNames<HashAlgorithm> {
  static constexpr const char* kWhat = "hash algorithm";
  static constexpr std::array<const char*, 3> kNames = {"mixsum64", "dotsum64", "gridsum64"};
};
/// Returns the hash of `size` bytes. Hashes are comparable only when one algorithm computed both.
std::uint64_t computeHash(HashAlgorithm algorithm, const void* data, std::size_t size);

/// One tensor as one rank had it at one place: its key and its description. The values are recorded
/// only if the capture policy kept them. The hash (traces/format/core/hash.h) and the statistics
/// are always recorded.
struct TensorRecord : TensorKey {
  TensorId id = TensorId::of(0);  ///< unique in the trace; the values chunk refers to it
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  HashAlgorithm hash_algorithm = HashAlgorithm::kMixSum64;
  std::uint64_t hash = 0;
  TensorStats stats;
  bool has_values = false;
};

/// A half-open run of consecutive global token indices. The ends are plain integers, because `end`
/// is no token and runs are cut and counted. TokenIndex::of(begin) is the first token.
struct TokenRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const TokenRun&, const TokenRun&) = default;
};

/// The way in which one rank's part of one buffer was cut. Its values are the tensor kBuffer of
/// that name.
struct ShardRecord {
  std::string buffer;
  std::int32_t train_step = 0;
  WorldRank rank = WorldRank::of(0);
  bool sharded = true;  ///< false: the rank created the buffer by itself
  std::int32_t seq_dim = 0;
  std::vector<std::int64_t> full_shape;  ///< empty when no whole buffer existed
  std::vector<std::int64_t> local_shape;
  std::vector<TokenRun>
      global_from_local;  ///< runs of global indices in local order; empty: unknown
  std::optional<std::int32_t> microbatch{};  ///< nullopt: all microbatches of the training step
};

/// The use of a byte of memory. Values are serialized: append, never renumber.
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
  kVerify,  ///< memory that the training step does not need: verification, captured copies, and
            ///< results that are gathered to be returned or saved
  kCount
};
template <>
struct EnumNames<MemoryCategory> {
  static constexpr const char* kWhat = "memory category";
  static constexpr std::array<const char*, 10> kNames = {
      "weights", "gradients", "optimizer", "activations", "q",
      "kv",      "in_flight", "out_lse",   "other",       "verify"};
};

/// The bytes that a rank holds in one category from time_ns on.
struct MemorySample {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  WorldRank rank = WorldRank::of(0);
  MemoryCategory category = MemoryCategory::kOther;
};

/// The error ÷ limit of each row of a compared tensor (a head and token, or a row of a weight), as
/// one byte per row or per several rows.
struct RowRatios {
  std::vector<std::int64_t> shape;  ///< shape of the rows: [B, H, S] of dq; empty: not recorded
  std::int64_t rows_a_code = 1;     ///< consecutive rows that share a code, which is that of the
                                    ///< largest ratio
  std::vector<std::uint8_t> codes;

  static constexpr std::int64_t kMostCodes = 65'536;
  /// Encodes a ratio. 0 means no error. Otherwise the code stands for 2^((code − 127) / 8), within
  /// 5 % from 1/50,000 to 50,000. 255 means a larger ratio or NaN.
  static std::uint8_t encode(double ratio);
  /// Decodes a ratio; 255 gives infinity.
  static double decode(std::uint8_t code);
  /// Returns the ratio of the row with this index in row-major order; nullopt when it was not
  /// recorded.
  std::optional<double> ofRow(std::int64_t row) const;
  friend bool operator==(const RowRatios&, const RowRatios&) = default;
};

/// The error of one tensor against unsharded attention computed in fp64.
struct DiffRecord {
  bool isolated = true;  ///< false: end to end, against the unsharded training step
  Place place;           ///< train_step and layer; layer is none for loss and parameter gradients
  /// "out", "dk", "rotary", "logits", "loss", "grad.<name>", "grad_norm". Isolated comparisons also
  /// have "clip_norm" and "update.<name>".
  std::string tensor;
  double largest = 0;  ///< largest absolute difference from the fp64 reference
  /// The 2-norm of the difference in the worst row. For a parameter's gradient the reference is the
  /// unsharded step or that step with the run's own attention, whichever gives the worse result for
  /// the row.
  double error = 0;
  double limit = 0;                       ///< of the worst row: the error that rounding explains
  double scale = 0;                       ///< of the worst row: 2-norm of the reference
  double ratio = 0;                       ///< error / limit of the worst row; a value above 1 is a
                                          ///< divergence
  std::vector<double> ratio_by_rank;      ///< per cp rank, the ratio of the worst row that it owns
  std::vector<std::int64_t> worst_index;  ///< global index of the worst row
  RowRatios rows;
  /// For a run that rounds q, k and v to FP8: the change of the tensor by that rounding alone, in
  /// fp64, as a share of the tensor's 2-norm. Error, limit and ratio do not include it, because
  /// they are computed from the rounded values.
  std::optional<double> quantisation;
};

/// A named JSON document: a step's log line, a rank's peak memory, the reason why a run failed.
struct Note {
  std::string key;
  std::string json;
};

/// The content of the last chunk of a complete recording.
struct EndRecord {
  std::uint64_t events = 0;
  std::uint64_t dropped_events = 0;
  std::uint64_t dropped_tensors = 0;
  std::int64_t run_clock_ns = 0;
  /// The numbers of rows of all chunks before this one, by ChunkKind. They reveal a chunk that is
  /// lost or whose kind was changed. Joining chunks does not change them.
  std::vector<std::uint64_t> rows_by_kind;
};

template <>
struct Fields<TensorStats> {
  static void visit(auto&& field, auto& s) {
    field("min", s.min);
    field("max", s.max);
    field("mean", s.mean);
    field("abs_max", s.abs_max);
    field("nan", s.nan);
    field("inf", s.inf);
  }
};
template <>
struct Fields<TensorRecord> {
  static void visit(auto&& field, auto& t) {
    field("id", t.id);
    Fields<TensorKey>::visit(field, t);
    field("dtype", t.dtype);
    field("shape", t.shape);
    field("hash_algorithm", t.hash_algorithm);
    field("hash", t.hash);
    field("stats", t.stats);
    field("has_values", t.has_values);
  }
};
template <>
struct Fields<TokenRun> {
  static void visit(auto&& field, auto& r) {
    field("begin", r.begin);
    field("end", r.end);
  }
};
template <>
struct Fields<ShardRecord> {
  static constexpr std::array kAdded = {AddedField{"microbatch", 4}};
  static void visit(auto&& field, auto& s) {
    field("buffer", s.buffer);
    field("train_step", s.train_step);
    field("rank", s.rank);
    field("sharded", s.sharded);
    field("seq_dim", s.seq_dim);
    field("full_shape", s.full_shape);
    field("local_shape", s.local_shape);
    field("global_from_local", s.global_from_local);
    field("microbatch", s.microbatch);
  }
};
template <>
struct Fields<MemorySample> {
  static void visit(auto&& field, auto& s) {
    field("time_ns", s.time_ns);
    field("bytes", s.bytes);
    field("rank", s.rank);
    field("category", s.category);
  }
};
template <>
struct Fields<RowRatios> {
  static void visit(auto&& field, auto& r) {
    field("shape", r.shape);
    field("rows_a_code", r.rows_a_code);
    field("codes", r.codes);
  }
};
template <>
struct Fields<DiffRecord> {
  static void visit(auto&& field, auto& d) {
    field("isolated", d.isolated);
    field("place", d.place);
    field("tensor", d.tensor);
    field("largest", d.largest);
    field("error", d.error);
    field("limit", d.limit);
    field("scale", d.scale);
    field("ratio", d.ratio);
    field("ratio_by_rank", d.ratio_by_rank);
    field("worst_index", d.worst_index);
    field("rows", d.rows);
    field("quantisation", d.quantisation);
  }
};
template <>
struct Fields<Note> {
  static void visit(auto&& field, auto& n) {
    field("key", n.key);
    field("json", n.json);
  }
};
template <>
struct Fields<EndRecord> {
  static void visit(auto&& field, auto& e) {
    field("events", e.events);
    field("dropped_events", e.dropped_events);
    field("dropped_tensors", e.dropped_tensors);
    field("run_clock_ns", e.run_clock_ns);
    field("rows_by_kind", e.rows_by_kind);
  }
};

}  // namespace ringscope::traces
