// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "traces/exchange/import/format.h"
#include "traces/format/storage/sqlite_source.h"

namespace ringscope::traces {

using namespace std::string_view_literals;

bool beginsAsRscope(std::span<const std::uint8_t> head) {
  constexpr std::string_view kSqlite = "SQLite format 3\0"sv;
  constexpr std::size_t kIdAt = 68;  // offset of SQLite's application_id, big-endian
  const auto same = [&](std::string_view text, std::size_t at) {
    return head.size() >= at + text.size() &&
           std::equal(text.begin(), text.end(), head.begin() + static_cast<std::ptrdiff_t>(at));
  };
  return same(kSqlite, 0) && same("RSCP", kIdAt);
}

std::shared_ptr<ChunkSource> openRscope(const std::string& path) {
  return std::make_shared<SqliteSource>(path);
}

}  // namespace ringscope::traces
