// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/attention/strategies/ring.h"
#include "traces/recording/recorder.h"

namespace ringscope::engine {

/// One attention over a whole sequence. q, dout: [B, Hq, S, D]; k, v: [B, Hkv, S, D].
struct AttendInput {
  at::Tensor q, k, v, dout;
  Mask mask = Mask::kCausal;
  double scale = 0;

  /// From a safetensors file with string metadata `mask` and `scale`; `mask` overrides the file's
  /// unless it is empty. Throws inputError that says what is missing, misshapen or not supported.
  static AttendInput load(const std::string& path, const std::string& mask);
};

struct AttendConfig {
  int cp = 4;
  std::string balance;  ///< none | head_tail; empty: head_tail where it makes sense
  std::string capture = "values:steps=0";
  int repeat = 1;  ///< runs in a row; every one is timed
};

/// Results in global order and in the input's type (lse in fp32 or fp64), and what it took.
struct AttendOutcome {
  std::map<std::string, at::Tensor> tensors;              ///< out, lse, dq, dk, dv
  std::vector<double> forward_seconds, backward_seconds;  ///< of each run, all ranks together
  std::vector<HopTotals> hops;                            ///< per rank, of one run
  std::vector<std::int64_t> work;                         ///< per rank: (query, key) pairs
};

/// Runs forward and backward under ring attention on cp rank threads. `recorder` may be null.
AttendOutcome attend(const AttendInput& input, const AttendConfig& config, Gate& gate,
                     traces::Recorder* recorder = nullptr);

/// The diffs of out, lse, dq, dk, dv against fp64, with one device's error as the noise floor.
std::vector<traces::DiffRecord> verifyAttend(const AttendInput& input,
                                             const AttendOutcome& outcome);

}  // namespace ringscope::engine
