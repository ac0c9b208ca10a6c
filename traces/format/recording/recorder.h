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
  std::size_t events_per_rank = std::size_t{1} << 14;  ///< ring buffer of each rank, in events
  std::size_t queue_bytes = std::size_t{256} << 20;    ///< values waiting for the writer thread
  std::chrono::milliseconds commit_interval{50};       ///< the most that a kill can lose
  std::int64_t start_ns = 0;  ///< steadyNow() at run clock 0, when others share it; 0: now
};

/// What is known to be written: everything up to chunk `chunk_watermark` at `run_clock_ns`.
struct Watermark {
  std::uint64_t chunk_watermark = 0;
  std::int64_t run_clock_ns = 0;
};

struct RecorderStats {
  std::uint64_t events = 0;
  std::uint64_t dropped_events = 0;   ///< a rank's ring buffer was full
  std::uint64_t dropped_tensors = 0;  ///< the queue was full: hash and statistics kept, values not
  std::vector<std::string> failed_sinks;
};

/// Collects what ranks record and writes it as chunks, in one thread of its own.
/// event() and memory() are wait-free and belong to their rank's thread; everything else may be
/// called from any thread and holds a lock for the time of a move.
class Recorder {
 public:
  Recorder(int world_size, std::vector<std::unique_ptr<ChunkSink>> sinks,
           RecorderOptions options = {});
  ~Recorder();  ///< closes
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Nanoseconds since run clock 0.
  std::int64_t now() const;
  /// steadyNow() at run clock 0: when the recorder was made, or as its options say.
  std::int64_t startNs() const { return start_ns_; }
  /// The run clock's reading at a steadyNow() time.
  std::int64_t toRunClock(std::int64_t steady_ns) const { return steady_ns - start_ns_; }

  /// False: the rank's buffer was full, and the event is counted as dropped.
  bool event(const Event& event) noexcept;
  void memory(const MemorySample& sample) noexcept;

  /// Assigns the id. `values` are the contiguous elements, or empty when only the record is kept.
  void tensor(TensorRecord record, Bytes values);
  /// Any record that has no buffer of its own: shards, notes, the run, its intent, groups,
  /// schedules …
  template <typename Record>
  void record(const Record& record) {
    enqueue(chunkOf(record));
  }
  /// Of events that this recorder was given before.
  void times(const std::vector<TimesRecord>& times) {
    enqueue(chunkOf(std::span<const TimesRecord>(times)));
  }
  void diffs(const std::vector<DiffRecord>& diffs) {
    enqueue(chunkOf(std::span<const DiffRecord>(diffs)));
  }
  void note(std::string key, std::string json) { record(Note{std::move(key), std::move(json)}); }

  /// Returns when everything recorded before the call has been written and made durable.
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
  SinkSet sinks_;  // writer thread only
  std::vector<std::unique_ptr<RankBuffers>> ranks_;
  std::atomic<std::uint64_t> dropped_events_{0};
  std::atomic<std::uint64_t> written_events_{0};
  std::uint64_t next_seq_ = 1;  // writer thread only, as is the next
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
