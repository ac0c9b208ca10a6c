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

/// The supervisor's end of the connections to its rank processes. It joins their recordings into
/// one recording with one clock, and passes on requests of the control connection. Thread-safe.
class RankHub : public ControlledRun {
 public:
  /// Connects `ranks` processes. `on_diffs` is called from another thread. `gate` is shared with
  /// the ranks and must outlive the hub.
  RankHub(Gate& gate, int ranks, std::vector<std::unique_ptr<traces::ChunkSink>> sinks,
          std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs);
  ~RankHub() override;

  /// Leaves the child's end of its connection in the environment. Called in a child before it
  /// becomes its rank.
  void prepareChild(traces::WorldRank rank) const;
  /// Closes the children's ends, so that the supervisor notices when a rank ends. Called in the
  /// supervisor after all children were started.
  void childrenStarted();

  /// Records a note of the supervisor.
  void note(const std::string& key, const std::string& json);
  /// Reads what the ranks left and ends the recording. Called after the last rank has ended.
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
    std::atomic<bool> gone{false};  ///< has ended, or sent malformed data
  };

  std::vector<traces::WorldRank> ranks() const;
  void loop();
  /// Reads from a rank. Returns whether there was anything to read.
  bool readFrom(traces::WorldRank rank);
  void take(traces::WorldRank rank, const traces::Frame& frame);
  void takeReply(const traces::control::Message& message);
  void setGone(Link& link);
  void flushSinks();
  void takeFailures() RINGSCOPE_REQUIRES(recording_mutex_);
  /// Sends a request to a rank and returns its answer. Throws if the rank refuses or does not
  /// answer.
  template <typename Request>
  typename Request::Answer ask(traces::WorldRank rank, const Request& request);
  traces::control::Answer answerFrom(traces::WorldRank rank,
                                     const traces::control::Request& request);
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
