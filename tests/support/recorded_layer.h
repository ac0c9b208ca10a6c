// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// The description of a recording of one attention layer.
struct LayerSpec {
  std::vector<std::string> tokens;  ///< tokens of each rank, as in "0-4,12-16"
  std::string intent = "mask=causal";
  std::string run;  ///< further settings of the run's line
  std::int64_t batch = 1, heads = 2, kv_heads = 2, head_dim = 8;
  traces::DType dtype = traces::DType::kFloat32;
  double spread = 1;                ///< standard deviation of q
  std::vector<double> sinks{};      ///< of each head; empty: none
  bool empty_blocks_count = false;  ///< ranks without a key for a row are blocks with an lse of 0
  bool sink_per_block = false;      ///< sinks are added once for each rank's keys
  std::vector<double> recorded_sinks{};  ///< recorded instead of `sinks`, if not empty
  double scale = 0;                      ///< of the scores; 0: 1 / √head_dim
  double softcap = 0;                    ///< of the scores; 0: none
  /// Writes the key of a token, [head_dim], equal in every head; none: keys are random.
  std::function<void(std::int64_t token, std::span<double> key)> write_key{};
};

/// Returns the description of a job of four ranks that computes attention itself.
LayerSpec importedLayer();

/// Adds a tensor with its values to a recording.
void addTensor(traces::Trace& trace, traces::TensorRecord tensor, traces::Bytes bytes);

/// One attention layer whose ranks attend one another's blocks in the type of the spec and merge
/// them in fp32, with random inputs and real rounding. It does not use traces/analysis/verify, so
/// that both check each other.
class RecordedLayer {
 public:
  explicit RecordedLayer(LayerSpec spec);

  /// Returns a row of the whole layer, which a test can spoil.
  std::span<double> row(traces::TensorKind kind, std::int64_t batch, std::int64_t head,
                        std::int64_t token);
  /// Remove a rank's tensor: its record and its values, or only its values.
  void leaveOut(traces::TensorKind kind, int rank) { absent_.insert({kind, rank}); }
  void keepNoValues(traces::TensorKind kind, int rank) { empty_.insert({kind, rank}); }

  /// Returns the recording: run, intent, group, shards and the ranks' tensors.
  std::shared_ptr<traces::Trace> record() const;

 private:
  void attendBlock(std::int64_t batch, std::int64_t head, std::int64_t query,
                   const std::vector<std::int64_t>& keys, std::vector<double>& out, double& lse);
  void takeSink(double sink, std::vector<double>& out, double& lse) const;
  void writeKeys();
  void forward();
  void backward();
  bool allows(std::int64_t query, std::int64_t key) const;
  double rounded(double value) const;  // to the type of the tensors
  double summed(double value) const;   // to the type of sums
  double scale() const;
  double score(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t key);

  LayerSpec spec_;
  std::string text_;
  traces::IntentRecord intent_;
  std::vector<std::vector<std::int64_t>> tokens_;  // of each rank
  std::int64_t length_ = 0;
  std::map<traces::TensorKind, std::vector<double>> values_;
  std::set<std::pair<traces::TensorKind, int>> absent_, empty_;
};

}  // namespace ringscope::test
