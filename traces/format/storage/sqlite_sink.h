// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/core/mutex.h"
#include "traces/format/recording/chunk_sink.h"
#include "traces/format/storage/recording_lock.h"
#include "traces/format/storage/sqlite.h"

namespace ringscope::traces {

/// The moment at which an older trace at the same path is replaced.
enum class ReplaceTrace {
  kAtOnce,
  kWhenTheRunIsUnderWay,  ///< at the first event; a run that fails earlier leaves the older trace
                          ///< alone
};

/// The state of a file that is not closed, for example after a kill.
enum class UnclosedTrace {
  kIsKept,    ///< a kill loses at most what came after the last flush()
  kIsNoTrace  ///< the writer discards an unclosed file, so writing is faster; close() syncs it
};

/// A sink that writes chunks into a .rscope file. During the run the file is in WAL mode and is
/// committed at every flush() and in between. A kill loses at most what came after the last commit,
/// and a full disk loses what did not fit. When it is closed, the sink merges the small chunks of
/// events and memory, adds summaries of events and leaves a single file. Any thread may call
/// seal(); everything else is for the recorder's writer thread.
class SqliteSink : public ChunkSink {
 public:
  /// Throws inputError when the path cannot be written, when it holds a file that is not a trace,
  /// or when another run records into it. Locks the file until it is closed.
  explicit SqliteSink(const std::string& path, ReplaceTrace when = ReplaceTrace::kAtOnce,
                      UnclosedTrace unclosed = UnclosedTrace::kIsKept);
  ~SqliteSink() override;

  /// Sets a function that is called when the run is under way and its trace replaces an older one.
  void onReplace(std::function<void()> call);

  void write(const Chunk& chunk) override;
  void flush() override;
  void close() override;

  /// Stores a JSON document where the doctor and the verifier cannot read it.
  void seal(const std::string& json);

 private:
  void create() RINGSCOPE_REQUIRES(mutex_);
  void makeTables() RINGSCOPE_REQUIRES(mutex_);
  void beginRun() RINGSCOPE_REQUIRES(mutex_);
  void insert(const Chunk& chunk) RINGSCOPE_REQUIRES(mutex_);
  void insertRow(const Chunk& chunk) RINGSCOPE_REQUIRES(mutex_);
  void insertSealed(const std::string& json) RINGSCOPE_REQUIRES(mutex_);
  void leaveOneFile() RINGSCOPE_REQUIRES(mutex_);
  void rollBack() RINGSCOPE_REQUIRES(mutex_);
  void mergeSmallChunks() RINGSCOPE_REQUIRES(mutex_);
  void begin() RINGSCOPE_REQUIRES(mutex_);
  void commit() RINGSCOPE_REQUIRES(mutex_);
  void mergeSmallChunks(ChunkKind kind) RINGSCOPE_REQUIRES(mutex_);
  void insertLast(std::vector<Chunk> chunks) RINGSCOPE_REQUIRES(mutex_);

  const std::string path_;
  const UnclosedTrace unclosed_;
  Mutex mutex_;
  /// The lock of the file at the path. It outlives the database, which is closed first.
  std::optional<RecordingLock> lock_ RINGSCOPE_GUARDED_BY(mutex_);
  /// Null until the run is under way, and after close().
  std::unique_ptr<Database> db_ RINGSCOPE_GUARDED_BY(mutex_);
  std::vector<Chunk> held_ RINGSCOPE_GUARDED_BY(mutex_);  // chunks written before db_ exists
  std::vector<std::string> held_seals_ RINGSCOPE_GUARDED_BY(mutex_);
  std::function<void()> on_replace_ RINGSCOPE_GUARDED_BY(mutex_);
  std::unique_ptr<Statement> insert_ RINGSCOPE_GUARDED_BY(mutex_);
  bool in_transaction_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  std::size_t transaction_bytes_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringscope::traces
