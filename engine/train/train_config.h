// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/attention/mask.h"
#include "engine/attention/strategies/registry.h"
#include "engine/parallel/mesh.h"
#include "engine/train/adamw.h"

namespace ringscope::engine {

/// What a training run is asked to do.
struct TrainConfig {
  std::string model_dir;                ///< empty: the small sample model
  std::vector<std::string> text_files;  ///< either these or token_file
  std::string token_file;
  std::string tokenizer;        ///< a SentencePiece model; empty: the model folder's, else bytes
  bool keep_documents = false;  ///< attention ends at the borders of packed documents
  std::string separator;        ///< of documents in a text file; empty: each file is one
  int dp = 1, tp = 1, cp = 4;
  int steps = 10;
  std::int64_t seq_len = 256;
  std::int64_t batch = 1;         ///< of all dp ranks together
  std::string dtype = "float32";  ///< float32 | float64 | bfloat16 (with fp32 masters)
  bool recompute = false;         ///< activations again in backward
  std::uint64_t seed = 0;
  AdamW::Options optimizer;
  double max_norm = 1.0;
  StrategyConfig attention;
  std::string balance;  ///< none | head_tail | striped; empty: head_tail where it makes sense
  Mask mask = Mask::causalMask();
  std::vector<std::string> mistakes;
  std::string transport = "local";
  std::string device = "cpu";     ///< or cuda: virtual ranks on one GPU, or a GPU a rank
  bool from_environment = false;  ///< this process is one rank, as torchrun sets it
  std::string checkpoint_dir;     ///< saved there at the end; empty: nowhere
  int checkpoint_every = 0;       ///< and after every so many steps
  bool resume = false;            ///< go on from the newest checkpoint
  bool verify = false;
  std::string capture = "values:steps=0";
  std::chrono::milliseconds timeout{60'000};

  Mesh mesh() const { return {dp, tp, cp}; }
};

/// One line of the training log.
struct StepLog {
  std::int32_t step = 0;
  double loss = 0;
  double grad_norm = 0;
  std::int64_t targets = 0;
  double seconds = 0;                    ///< wall time of the step, verification left out
  std::vector<std::int64_t> peak_bytes;  ///< per rank, since the beginning

  nlohmann::json toJson() const;
};

/// The balance that a run uses: what was asked, or head_tail for causal attention over several
/// ranks. Throws usageError for head_tail without a causal mask.
Balance chooseBalance(const std::string& asked, const Mask& mask, int cp_size);

}  // namespace ringscope::engine
