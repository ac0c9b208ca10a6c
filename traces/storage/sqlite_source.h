// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "traces/schema/chunk.h"
#include "traces/storage/sqlite.h"

namespace ringscope::traces {

/// Reads the chunks of a .rscope file, which may come from a stranger: the schema must be exactly
/// ours, an authorizer lets nothing but reads of the table `chunk` through (so what was sealed
/// cannot be seen from here), and every checksum is verified. Not thread-safe.
class SqliteSource {
 public:
  /// Throws inputError when the file is missing, is no trace, or is of a newer version.
  explicit SqliteSource(const std::string& path);

  /// Calls `take` for every chunk but values, in the order of writing. A damaged chunk is left out
  /// and named through `damaged`.
  void readAll(const std::function<void(Chunk)>& take,
               const std::function<void(std::string)>& damaged);
  /// The values of one tensor. Throws inputError when they are damaged.
  std::optional<Bytes> readValues(std::uint64_t tensor_id);
  /// Chunks with first <= seq <= last, values included; for a stream that lost some.
  void readRange(std::uint64_t first, std::uint64_t last, const std::function<void(Chunk)>& take);

 private:
  void checkIdentity();
  void checkSchema();
  void restrictAccess();

  Database db_;
};

}  // namespace ringscope::traces
