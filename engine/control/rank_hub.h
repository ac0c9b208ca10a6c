// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "engine/control/controlled_run.h"
#include "traces/exchange/control/messages.h"
#include "traces/format/core/mutex.h"
#include "traces/format/join/chunk_joiner.h"
#include "traces/format/recording/sink_set.h"
#include "traces/format/stream/frame.h"

namespace ringscope::engine {

/// The supervisor's end of its rank processes: joins what they record into one recording with one
/// clock, and passes on what the control connection asks. Thread-safe.
class RankHub : public ControlledRun {
 public:
  /// `on_diffs` is called from another thread. `gate` is shared
  /// with the ranks and outlives this.
  RankHub(Gate& gate, int ranks, std::vector<std::unique_ptr<traces::ChunkSink>> sinks,
          std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs);
  ~RankHub() override;

  /// In a child, before it becomes its rank: leaves its end in the environment.
  void prepareChild(traces::WorldRank rank) const;
  /// In the supervisor, when all children have been started: from here on it notices who is gone.
  void childrenStarted();

  /// A note of the supervisor's own.
  void note(const std::string& key, const std::string& json);
  /// After the last rank has ended: takes in what they left and ends the recording.
  void close();

  traces::Watermark flush() override;
  traces::RecorderStats stats() const override;
  std::int64_t now() const override;
  traces::control::TensorList tensors() override;
  traces::control::TensorSlice read(const traces::control::ReadTensor& asked) override;
  std::int32_t inject(const std::string& mistake) override;
  std::int32_t lift(const std::string& mistake) override;
  void setCapture(const std::string& policy) override;
  void breakOnNonFinite(bool on) override;

 private:
  struct Link {
    int ours = -1, theirs = -1;
    traces::FrameDecoder decoder;
    std::atomic<bool> gone{false};  ///< has ended, or sent what cannot be read
  };

  std::vector<traces::WorldRank> ranks() const;
  void loop();
  /// Whether there was anything to read.
  bool readFrom(traces::WorldRank rank);
  void take(traces::WorldRank rank, const traces::Frame& frame);
  void takeReply(const traces::control::Message& message);
  void setGone(Link& link);
  void flushSinks();
  void takeFailures() RINGSCOPE_REQUIRES(recording_mutex_);
  /// Throws when the rank refuses, or does not answer.
  template <typename Request>
  typename Request::Answer ask(traces::WorldRank rank, const Request& request);
  traces::control::Answer answerOf(traces::WorldRank rank, const traces::control::Request& request);
  template <typename Request>
  std::vector<typename Request::Answer> askAll(const Request& request);
  template <typename Change>
  std::int32_t change(const Change& request);

  Gate& gate_;
  const std::int64_t start_ns_;
  std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs_;
  std::vector<Link> links_;

  mutable traces::Mutex recording_mutex_;
  traces::SinkSet sinks_ RINGSCOPE_GUARDED_BY(recording_mutex_);
  traces::ChunkJoiner joiner_ RINGSCOPE_GUARDED_BY(recording_mutex_);
  traces::RecorderStats stats_ RINGSCOPE_GUARDED_BY(recording_mutex_);
  bool dirty_ RINGSCOPE_GUARDED_BY(recording_mutex_) = false;

  traces::Mutex replies_mutex_;
  traces::Condition replied_;
  std::map<std::int64_t, traces::control::Answer> replies_ RINGSCOPE_GUARDED_BY(replies_mutex_);
  std::int64_t next_id_ RINGSCOPE_GUARDED_BY(replies_mutex_) = 1;

  std::atomic<bool> closing_{false};
  std::thread thread_;
};

}  // namespace ringscope::engine
