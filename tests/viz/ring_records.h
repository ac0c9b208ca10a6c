// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/viz/ring_plan.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::test {

/// The writer of single records of a run, which every pass of the run has in common.
class RingRecords {
 public:
  RingRecords(const RingRun& run, traces::Recorder& to) : run_(run), plan_(run), to_(to) {}

  /// Writes the run, its intent and the groups.
  void putRun();
  void putSchedules(int train_step, int rank);
  /// Writes the buffers of a rank's batch, how they were cut, and the position ids that its model
  /// used.
  void putBuffers(int train_step, int rank);
  /// Puts logits of which the label of each token is the largest, more so for some tokens.
  void putLogits(int train_step, int rank);
  /// Writes errors within their limits, or far beyond them with a wrong merge or wrong positions.
  void putDiffs(int train_step);
  /// Writes a gradient and a weight, the same on every rank.
  void putParameters(int train_step, int rank);
  void putMemory(int rank, std::int64_t at);

  /// Writes a tensor. Keeps the values of the first training step, as with --capture
  /// values:steps=0.
  void putTensor(traces::TensorName name, const traces::Place& place, int rank,
                 std::vector<std::int64_t> shape, const std::vector<double>& values,
                 traces::WorldRank source = {}, traces::PieceIndex piece = {});
  traces::Event eventAt(const traces::Place& place, int rank, traces::EventKind kind,
                        traces::WorldRank source) const;
  void putEvent(traces::Event event, std::int64_t begin, std::int64_t end);
  /// Writes a send and its receive.
  void putSend(const traces::Place& place, int rank, traces::WorldRank peer,
               traces::WorldRank source, traces::Payload payload, std::int64_t begin,
               std::int64_t end);

 protected:
  const RingRun& run_;
  RingPlan plan_;

 private:
  std::vector<traces::WorldRank> everyone() const;
  std::int64_t positionFor(std::int64_t token) const;
  void putShard(const char* name, int train_step, int rank);
  void putErrors(const traces::Place& place, const std::string& tensor);
  traces::RowRatios rowsFor(const std::string& tensor, double largest) const;

  traces::Recorder& to_;
  std::uint64_t flows_ = 0;
};

}  // namespace ringscope::test
