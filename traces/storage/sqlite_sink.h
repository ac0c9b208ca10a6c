// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "traces/recording/chunk_sink.h"
#include "traces/storage/sqlite.h"

namespace ringscope::traces {

/// Writes chunks into a .rscope file. While the run lasts the file is in WAL mode and committed at
/// every flush(), so a kill loses at most what came after the last one; close() merges the small
/// chunks of events and memory and leaves a single file.
/// seal() may be called from any thread; the rest belongs to the recorder.
class SqliteSink : public ChunkSink {
 public:
  /// Replaces a trace that is there. Throws inputError when the path cannot be written or holds a
  /// file that is not a trace.
  explicit SqliteSink(const std::string& path);
  ~SqliteSink() override;

  void write(const Chunk& chunk) override;
  void flush() override;
  void close() override;

  /// Puts a JSON document where the doctor and the verifier cannot read it.
  void seal(const std::string& json);

 private:
  void insert(const Chunk& chunk);
  void begin();
  void commit();
  void mergeSmallChunks(ChunkKind kind);

  std::mutex mutex_;
  std::unique_ptr<Database> db_;
  std::unique_ptr<Statement> insert_;
  bool in_transaction_ = false;
};

}  // namespace ringscope::traces
