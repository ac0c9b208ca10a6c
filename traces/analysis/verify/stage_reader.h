// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "traces/analysis/verify/hypotheses/planned_blocks.h"
#include "traces/analysis/verify/stage_check.h"

namespace ringscope::traces {

/// The parts of one layer that checkStages() reads. It must outlive its readers.
struct StageSetting {
  const Trace& trace;
  const LayerTensors& layer;
  const PlannedBlocks& plan;
  const AttentionMask& mask;
  Selection selection;  ///< some (batch entry, KV head) pairs with all rows

  std::size_t width() const { return static_cast<std::size_t>(layer.head_dim); }
  Place placeFor(Direction direction, RingStep ring_step) const {
    return {layer.pass.train_step, layer.pass.layer, direction, ring_step};
  }
  /// Returns whether the declared mask lets a query attend a key. Both are indices into the layer's
  /// tokens.
  bool allows(std::size_t query, std::size_t key) const;
};

/// Compares the results of ring steps. It is given one ring step of one rank at a time, in the
/// order in which the ranks took them.
class StageReader {
 public:
  virtual ~StageReader() = default;
  /// Compares the stage at `index` of the rank's schedule and adds wrong results to `wrong`.
  /// Returns how many results were compared.
  virtual std::int64_t read(const PlannedBlocks::Seat& seat, std::size_t index,
                            std::vector<WrongStage>& wrong) = 0;
  /// Compares the layer's own result. Called after the last ring step if none was wrong.
  virtual void finish(std::vector<WrongStage>&) {}
};

/// Returns the reader for forward, which compares blocks and merges.
std::unique_ptr<StageReader> blockReader(const StageSetting& setting);
/// Returns the reader for backward. It compares the parts of dK and dV, and if these are right, dq.
std::unique_ptr<StageReader> sumReader(const StageSetting& setting);

/// Collects the wrong rows of one result.
class WrongRows {
 public:
  void add(const RowError& row);
  bool empty() const { return tokens_.empty(); }
  /// Sets the heads, tokens and worst row of `stage`.
  void into(WrongStage& stage) const;

 private:
  RowError worst_;
  std::vector<std::int64_t> heads_;
  std::vector<std::int64_t> tokens_;
};

}  // namespace ringscope::traces
