// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/attention/strategies/registry.h"
#include "traces/analysis/verify/rounding/merged_blocks.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// The layer under which the tensors of `attend` are recorded.
inline constexpr Layer kOnlyLayer = Layer::of(0);

/// The shape of a random attention input. q, dout: [B, H, S, D]; k, v: [B, Hkv, S, D].
struct RandomShape {
  std::int64_t batch = 1, heads = 1, length = 1, width = 1, kv_heads = 1;

  /// Parses "B,H,S,D", or "B,H,S,D,Hkv" for fewer KV heads than query heads. Throws usageError.
  static RandomShape parse(const std::string& text);
};

/// The input of one attention over a whole sequence. q, dout: [B, Hq, S, D]; k, v: [B, Hkv, S, D].
struct AttendInput {
  at::Tensor q, k, v, dout;
  Mask mask = Mask::causalMask();
  double scale = 0;
  at::Tensor sinks;  ///< [Hq] logits of attention sinks, or undefined

  /// Reads a safetensors file with q, k, v, dout and optionally sinks. Its string metadata are
  /// `mask`, `window`, `scale` and `layout` (BHSD, BSHD, SBHD or THD). The file also holds
  /// cu_seqlens if its mask has documents. The arguments `mask` and `window` override the file's
  /// metadata; a `window` of 0 overrides nothing. Without either mask, the mask is full. Without
  /// `scale`, the scale is 1/√D. The tensors are permuted to BHSD. Throws inputError for values
  /// that are missing, misshapen or unsupported. Throws usageError for a window that its mask would
  /// ignore and for invalid cu_seqlens.
  static AttendInput load(const std::string& path, std::optional<traces::MaskKind> mask = {},
                          std::int64_t window = 0);
  /// Draws q, k, v and dout from a standard normal distribution. Equal seeds give equal values.
  /// The default mask is causal, or a sliding window if `window` is above 0. Throws usageError for
  /// a mask of documents, because it needs their lengths.
  static AttendInput random(const RandomShape& shape, traces::DType type, std::uint64_t seed,
                            std::optional<traces::MaskKind> mask = {}, std::int64_t window = 0);
};

/// The settings of one attention: the run, except for mask, type and shape, which the input has,
/// and settings that concern only this process.
struct AttendConfig : traces::RunSpec {
  int repeat = 1;    ///< number of consecutive runs; each is timed
  bool pad = false;  ///< pad the sequence, or each document, to the length that the balance needs
  std::chrono::milliseconds timeout{60'000};
  bool track_memory = false;
  bool forward_only = false;  ///< skip dq, dk and dv
  Seams seams;                ///< the places where mistakes are injected

  /// Reports whether the environment makes this process one rank (torchrun). Only rank 0 then
  /// returns a complete outcome; the others return no tensors.
  bool fromEnvironment() const { return launch == traces::Launch::kEnv; }
};

/// The results of attend(), in global order and in the input's type (lse in fp32 or fp64), with
/// their cost.
struct AttendOutcome {
  std::map<std::string, at::Tensor> tensors;              ///< out, lse, dq, dk, dv, dsinks
  std::vector<double> forward_seconds, backward_seconds;  ///< per run, all ranks together
  std::vector<HopTotals> hops;                            ///< per rank, for one run
  std::vector<std::int64_t> work;                         ///< per rank: (query, key) pairs per head
  std::vector<std::int64_t> peak_bytes;  ///< per rank; empty if not tracked or fromEnvironment()
  traces::Device device = traces::Device::kCpu;  ///< where attention was computed
  std::optional<traces::MergedBlocks> blocks;    ///< the merged blocks, without padding;
                                                 ///< nullopt if incomplete
  std::vector<std::string> unseen_mistakes;      ///< one sentence per mistake that changed nothing
};

/// Throws the usageError with which attend() would reject this input. Starts nothing.
void checkAttend(const AttendInput& input, const AttendConfig& config);

/// Runs forward, and backward unless `forward_only`, under context parallelism. Uses one thread per
/// cp rank, or only this process's rank if config.fromEnvironment(). The `gate` holds or stops the
/// ranks. `recorder` may be null. Throws usageError as checkAttend() does, and runFailed when a
/// rank fails or the run is stopped.
AttendOutcome attend(const AttendInput& input, const AttendConfig& config, Gate& gate,
                     traces::Recorder* recorder = nullptr);

/// Compares each tensor of `outcome` with unsharded attention in fp64, and returns one diff per
/// tensor. `outcome` must contain out. The limit of each row follows from the errors of one device
/// of the same kind. With `fp8`, both sides compute with q, k and v rounded to e4m3.
std::vector<traces::DiffRecord> verifyAttend(const AttendInput& input, const AttendOutcome& outcome,
                                             bool fp8 = false);

}  // namespace ringscope::engine
