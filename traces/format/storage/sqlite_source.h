// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/core/input_file.h"
#include "traces/format/core/mutex.h"
#include "traces/format/storage/chunk_source.h"
#include "traces/format/storage/sqlite.h"

namespace ringscope::traces {

/// The reader of the chunks of an untrusted .rscope file. The schema must be exactly that of a
/// trace. An authorizer allows only reads of the table `chunk`, so sealed documents cannot be seen
/// from here. Every checksum is verified. While a recorder may be at work, the file is open only
/// during a call, so that the recorder can finish it. Any thread may call it; calls wait for one
/// another.
class SqliteSource : public ChunkSource {
 public:
  /// Throws inputError when the file is missing, is no trace, or is of another version.
  explicit SqliteSource(const std::string& path);

  /// Lists all chunks; in a truncated file, those that are present.
  void list(const Take& take, const Problem& problem) override RINGSCOPE_EXCLUDES(mutex_);
  Chunk read(std::uint64_t seq) override RINGSCOPE_EXCLUDES(mutex_);
  std::optional<Bytes> values(TensorId tensor) override RINGSCOPE_EXCLUDES(mutex_);
  /// Reads the chunks with first <= seq <= last, values included. For a stream that lost some.
  void readRange(std::uint64_t first, std::uint64_t last, const std::function<void(Chunk)>& take)
      RINGSCOPE_EXCLUDES(mutex_);

 private:
  class Use;
  struct Listing;
  void open() RINGSCOPE_REQUIRES(mutex_);
  void checkIdentity() RINGSCOPE_REQUIRES(mutex_);
  void checkSchema() RINGSCOPE_REQUIRES(mutex_);
  EventSummaries readSummaries(const Problem& problem) RINGSCOPE_REQUIRES(mutex_);
  void listRow(const Statement& row, Listing& listing) RINGSCOPE_REQUIRES(mutex_);
  void listWhatIsLeft(Listing& listing) RINGSCOPE_REQUIRES(mutex_);

  const std::string path_;
  Mutex mutex_;
  FileIdentity opened_first_ RINGSCOPE_GUARDED_BY(mutex_);
  std::unique_ptr<Database> db_ RINGSCOPE_GUARDED_BY(mutex_);
  bool cut_short_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  int version_ RINGSCOPE_GUARDED_BY(mutex_) = kFormatVersion;  ///< of the format of the file
  std::map<std::uint64_t, std::uint64_t> values_at_  // chunk number of the values, by tensor id
      RINGSCOPE_GUARDED_BY(mutex_);
};

}  // namespace ringscope::traces
