// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/core/input_file.h"
#include "traces/format/storage/chunk_source.h"
#include "traces/format/storage/sqlite.h"

namespace ringscope::traces {

/// Reads the chunks of a .rscope file, which may come from a stranger: the schema must be exactly
/// ours, an authorizer lets nothing but reads of the table `chunk` through (so what was sealed
/// cannot be seen from here), and every checksum is verified. While a recorder may be at work the
/// file is open only for the time of a call, so that the recorder can finish it. Not thread-safe.
class SqliteSource : public ChunkSource {
 public:
  /// Throws inputError when the file is missing, is no trace, or is of another version.
  explicit SqliteSource(const std::string& path);

  /// Of a file that was cut short, what is there is listed.
  void list(const Take& take, const Problem& problem) override;
  Chunk read(std::uint64_t seq) override;
  std::optional<Bytes> values(TensorId tensor) override;
  /// Chunks with first <= seq <= last, values included; for a stream that lost some.
  void readRange(std::uint64_t first, std::uint64_t last, const std::function<void(Chunk)>& take);

 private:
  class Use;
  struct Listing;
  void open();
  void checkIdentity();
  void checkSchema();
  EventSummaries readSummaries(const Problem& problem);
  void listRow(const Statement& row, Listing& listing);
  void listWhatIsLeft(Listing& listing);

  const std::string path_;
  FileIdentity opened_first_;
  std::unique_ptr<Database> db_;
  int uses_ = 0;
  bool cut_short_ = false;
  std::map<std::uint64_t, std::uint64_t> values_at_;  // by key: the chunk of values
};

}  // namespace ringscope::traces
