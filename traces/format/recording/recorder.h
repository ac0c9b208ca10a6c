// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "traces/format/core/mutex.h"
#include "traces/format/recording/sink_set.h"
#include "traces/format/recording/spsc_ring.h"

namespace ringscope::traces {

struct RecorderOptions {
  std::size_t events_per_rank = std::size_t{1} << 14;  ///< capacity of each rank's ring buffer, in
                                                       ///< events
  std::size_t queue_bytes = std::size_t{256} << 20;    ///< most bytes of values waiting for the
                                                       ///< writer thread
  std::chrono::milliseconds commit_interval{50};       ///< the longest span that a kill can lose
  std::int64_t start_ns = 0;  ///< steadyNow() at run clock 0, when several recorders share one
                              ///< clock; 0: now
};

/// The position up to which everything has been written: chunk `chunk_watermark`, at
/// `run_clock_ns`.
struct Watermark {
  std::uint64_t chunk_watermark = 0;
  std::int64_t run_clock_ns = 0;
};

struct RecorderStats {
  std::uint64_t events = 0;
  std::uint64_t dropped_events = 0;   ///< events lost because a rank's ring buffer was full
  std::uint64_t dropped_tensors = 0;  ///< tensors without values because the queue was full; hash
                                      ///< and statistics are kept
  std::vector<std::string> failed_sinks;
};

/// The collector of everything that ranks record. It writes chunks in a thread of its own. event()
/// and memory() are wait-free, and only the rank's own thread may call them. Everything else may be
/// called from any thread and holds a lock only while it moves data.
class Recorder {
 public:
  Recorder(int world_size, std::vector<std::unique_ptr<ChunkSink>> sinks,
           RecorderOptions options = {});
  ~Recorder();  ///< calls close()
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Returns nanoseconds since run clock 0.
  std::int64_t now() const;
  /// Returns steadyNow() at run clock 0: the time of construction, or RecorderOptions::start_ns.
  std::int64_t startNs() const { return start_ns_; }
  /// Converts a steadyNow() time to the run clock.
  std::int64_t toRunClock(std::int64_t steady_ns) const { return steady_ns - start_ns_; }

  /// Records an event. Returns false when the rank's buffer was full; the event is then counted as
  /// dropped.
  bool event(const Event& event) noexcept;
  void memory(const MemorySample& sample) noexcept;

  /// Records a tensor and assigns its id. `values` are the contiguous elements, or empty to keep
  /// only the record.
  void tensor(TensorRecord record, Bytes values);
  /// Records anything without a buffer of its own: shards, notes, the run, its intent, groups,
  /// schedules.
  template <typename Record>
  void record(const Record& record) {
    enqueue(makeChunk(record));
  }
  /// Records the times of events that were recorded before.
  void times(const std::vector<TimesRecord>& times) {
    enqueue(makeChunk(std::span<const TimesRecord>(times)));
  }
  void diffs(const std::vector<DiffRecord>& diffs) {
    enqueue(makeChunk(std::span<const DiffRecord>(diffs)));
  }
  void note(std::string key, std::string json) { record(Note{std::move(key), std::move(json)}); }

  /// Waits until everything recorded before the call has been written and made durable.
  Watermark flush();
  /// Flushes, writes the end record and closes the sinks. Later calls do nothing.
  void close();
  RecorderStats stats() const;

 private:
  struct TensorItem {
    TensorRecord record;
    Bytes values;
  };
  using Item = std::variant<TensorItem, Chunk>;
  struct RankBuffers {
    explicit RankBuffers(std::size_t capacity) : events(capacity), memory(capacity) {}
    SpscRing<Event> events;
    SpscRing<MemorySample> memory;
  };

  void enqueue(Chunk chunk);
  void writerLoop();
  void writeOut(bool closing);
  void drainOnce();
  void writeRank(std::size_t rank);
  void writeItems(std::vector<Item> items);
  void writeChunk(Chunk chunk);
  void writeValues(const TensorRecord& record, Bytes values);

  const std::int64_t start_ns_;
  const RecorderOptions options_;
  SinkSet sinks_;  // used by the writer thread only
  std::vector<std::unique_ptr<RankBuffers>> ranks_;
  std::atomic<std::uint64_t> dropped_events_{0};
  std::atomic<std::uint64_t> written_events_{0};
  std::uint64_t next_seq_ = 1;  // used by the writer thread only, like rows_by_kind_
  std::vector<std::uint64_t> rows_by_kind_ = noRows();

  mutable Mutex mutex_;
  Condition wake_writer_;
  Condition drained_;
  std::vector<Item> items_ RINGSCOPE_GUARDED_BY(mutex_);
  std::size_t item_bytes_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_tensor_id_ RINGSCOPE_GUARDED_BY(mutex_) = 1;
  std::uint64_t dropped_tensors_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  std::uint64_t flush_requested_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  std::uint64_t flush_done_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  Watermark watermark_ RINGSCOPE_GUARDED_BY(mutex_);
  bool closing_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  std::vector<std::string> failed_sinks_ RINGSCOPE_GUARDED_BY(mutex_);
  std::thread writer_;
};

}  // namespace ringscope::traces
