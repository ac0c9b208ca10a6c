// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/sealed.h"

#include "traces/format/core/checksum.h"
#include "traces/format/storage/sqlite.h"
#include "traces/format/storage/sqlite_source.h"

namespace ringscope::traces {

std::vector<std::string> readSealed(const std::string& path) {
  SqliteSource verify_identity(path);
  Database db(path, Database::Mode::kReadOnly);
  Statement select(db.handle(), "SELECT checksum, body FROM sealed ORDER BY id");
  std::vector<std::string> documents;
  while (select.step()) {
    const Bytes body = select.blob(1);
    if (static_cast<std::int64_t>(checksum(body.data(), body.size())) != select.integer(0))
      throw inputError(path + ": what was sealed is damaged");
    documents.emplace_back(body.begin(), body.end());
  }
  return documents;
}

}  // namespace ringscope::traces
