// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/attention/strategies/registry.h"
#include "engine/verify/merged_blocks.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// Where its tensors are recorded.
inline constexpr Layer kOnlyLayer = Layer::of(0);

/// The shape of an attention that is made up: q, dout [B, H, S, D]; k, v [B, Hkv, S, D].
struct RandomShape {
  std::int64_t batch = 1, heads = 1, length = 1, width = 1, kv_heads = 1;

  /// From "B,H,S,D", or "B,H,S,D,Hkv" where there are fewer key-value heads. Throws usageError.
  static RandomShape parse(const std::string& text);
};

/// One attention over a whole sequence. q, dout: [B, Hq, S, D]; k, v: [B, Hkv, S, D].
struct AttendInput {
  at::Tensor q, k, v, dout;
  Mask mask = Mask::causalMask();
  double scale = 0;
  at::Tensor sinks;  ///< [Hq] logits of attention sinks, or undefined

  /// From a safetensors file (q, k, v, dout, and sinks if there are any) with string metadata
  /// `mask`, `window`, `scale` and `layout` (BHSD, BSHD, SBHD or THD), and cu_seqlens for
  /// documents; `mask` and `window` override the file's where they are given. Tensors are turned to
  /// BHSD. Throws inputError that says what is missing, misshapen or not supported.
  static AttendInput load(const std::string& path, std::optional<traces::MaskKind> mask = {},
                          std::int64_t window = 0);
  /// Standard normal q, k, v and dout, the same for the same seed. Throws usageError for a mask
  /// that numbers alone do not make.
  static AttendInput random(const RandomShape& shape, traces::DType type, std::uint64_t seed,
                            std::optional<traces::MaskKind> mask = {}, std::int64_t window = 0);
};

/// What one attention is asked to do: the run (mask, type and shape are the input's), and what
/// concerns only the process that does it.
struct AttendConfig : traces::RunSpec {
  int repeat = 1;    ///< runs in a row; every one is timed
  bool pad = false;  ///< make the sequence, or each document, as long as the balance needs
  std::chrono::milliseconds timeout{60'000};
  bool track_memory = false;
  bool forward_only = false;  ///< dq, dk, dv are then not computed
  Seams seams;                ///< where mistakes are made

  /// This process is one rank; only rank 0's outcome is whole.
  bool fromEnvironment() const { return launch == traces::Launch::kEnv; }
};

/// Results in global order and in the input's type (lse in fp32 or fp64), and what it took.
struct AttendOutcome {
  std::map<std::string, at::Tensor> tensors;              ///< out, lse, dq, dk, dv, dsinks
  std::vector<double> forward_seconds, backward_seconds;  ///< of each run, all ranks together
  std::vector<HopTotals> hops;                            ///< per rank, of one run
  std::vector<std::int64_t> work;                         ///< per rank: (query, key) pairs a head
  std::vector<std::int64_t> peak_bytes;                   ///< per rank; empty: not tracked
  traces::Device device = traces::Device::kCpu;           ///< where attention was computed
  std::optional<MergedBlocks> blocks;                     ///< nullopt: one block
  std::vector<std::string> unseen_mistakes;  ///< a sentence for each that changed nothing
};

/// Throws the usageError with which attend() would refuse this call. Starts nothing.
void checkAttend(const AttendInput& input, const AttendConfig& config);

/// Runs forward and backward under context parallelism on cp rank threads. `recorder` may be null.
AttendOutcome attend(const AttendInput& input, const AttendConfig& config, Gate& gate,
                     traces::Recorder* recorder = nullptr);

/// The diffs of out, lse, dq, dk, dv (and of the sinks' gradient) against fp64, with each row's
/// limit from what the errors of one such device are. With `fp8`, both compute with q, k and v as
/// e4m3.
std::vector<traces::DiffRecord> verifyAttend(const AttendInput& input, const AttendOutcome& outcome,
                                             bool fp8 = false);

}  // namespace ringscope::engine
