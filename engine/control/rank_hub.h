// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/control/controlled_run.h"
#include "traces/join/chunk_joiner.h"
#include "traces/recording/sink_set.h"
#include "traces/stream/frame.h"

namespace ringscope::engine {

/// The supervisor's end of its rank processes: joins what they record into one recording with one
/// clock, and passes on what the control connection asks. Thread-safe.
class RankHub : public ControlledRun {
 public:
  /// The first `recorded` ranks record. `on_diffs` is called from another thread. `gate` is shared
  /// with the ranks and outlives this.
  RankHub(Gate& gate, int ranks, int recorded,
          std::vector<std::unique_ptr<traces::ChunkSink>> sinks,
          std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs);
  ~RankHub() override;

  /// In a child, before it becomes its rank: leaves its end in the environment.
  void prepareChild(int rank) const;
  /// In the supervisor, when all children have been started: from here on it notices who is gone.
  void childrenStarted();

  /// A note of the supervisor's own.
  void note(const std::string& key, const std::string& json);
  /// After the last rank has ended: takes in what they left and ends the recording.
  void close();

  traces::Watermark flush() override;
  traces::RecorderStats stats() const override;
  std::int64_t now() const override;
  nlohmann::json tensors() override;
  nlohmann::json read(const nlohmann::json& request) override;
  std::int32_t change(const std::string& cmd, const std::string& mistake) override;
  void setCapture(const std::string& policy) override;
  void breakOnNonFinite(bool on) override;

 private:
  struct Link {
    int ours = -1, theirs = -1;
    traces::FrameDecoder decoder;
    std::atomic<bool> gone{false};  ///< has ended, or sent what cannot be read
  };

  void loop();
  /// Whether there was anything to read.
  bool readFrom(int rank);
  void take(int rank, const traces::Frame& frame);
  void setGone(Link& link);
  void flushSinks();
  void takeFailures();
  nlohmann::json ask(int rank, nlohmann::json request);
  std::vector<nlohmann::json> askAll(const nlohmann::json& request, int ranks);

  Gate& gate_;
  const std::int64_t start_ns_;
  const int recorded_;
  std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs_;
  std::vector<Link> links_;

  mutable std::mutex recording_mutex_;  // of the sinks, the joiner and stats_
  traces::SinkSet sinks_;
  traces::ChunkJoiner joiner_;
  traces::RecorderStats stats_;
  bool dirty_ = false;

  std::mutex replies_mutex_;
  std::condition_variable replied_;
  std::map<int, nlohmann::json> replies_;
  int next_id_ = 1;

  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace ringscope::engine
