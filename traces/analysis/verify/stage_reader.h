// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "traces/analysis/verify/hypotheses/planned_blocks.h"
#include "traces/analysis/verify/stage_check.h"

namespace ringscope::traces {

/// What checkStages() reads of one layer. Outlives its readers.
struct StageSetting {
  const Trace& trace;
  const LayerTensors& layer;
  const PlannedBlocks& plan;
  const AttentionMask& mask;
  Selection selection;  ///< all rows of some (batch entry, KV head) pairs

  std::size_t width() const { return static_cast<std::size_t>(layer.head_dim); }
  Place placeFor(Direction direction, RingStep ring_step) const {
    return {layer.pass.train_step, layer.pass.layer, direction, ring_step};
  }
  /// Whether the declared mask lets a query attend a key; indices into the layer's tokens.
  bool allows(std::size_t query, std::size_t key) const;
};

/// Looks at one ring step of one rank after the other, in the order in which they were taken.
class StageReader {
 public:
  virtual ~StageReader() = default;
  /// Adds what is wrong to `wrong`. `index`: of the stage in its schedule. Returns how many results
  /// were compared.
  virtual std::int64_t read(const PlannedBlocks::Seat& seat, std::size_t index,
                            std::vector<WrongStage>& wrong) = 0;
  /// After all ring steps, where none is wrong: what the layer's own result says of them.
  virtual void finish(std::vector<WrongStage>&) {}
};

/// Of forward: blocks and merges.
std::unique_ptr<StageReader> blockReader(const StageSetting& setting);
/// Of backward: what is added to dK and dV, and, where that is right, to dq.
std::unique_ptr<StageReader> sumReader(const StageSetting& setting);

/// Rows of one result that are wrong.
class WrongRows {
 public:
  void add(const RowError& row);
  bool empty() const { return tokens_.empty(); }
  /// Puts them, and the worst, into `stage`.
  void into(WrongStage& stage) const;

 private:
  RowError worst_;
  std::vector<std::int64_t> heads_;
  std::vector<std::int64_t> tokens_;
};

}  // namespace ringscope::traces
