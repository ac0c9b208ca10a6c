// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The whole schema of a trace, exactly as SQLite stores it. A reader rejects any other schema.
inline constexpr const char* kCreateChunk =
    "CREATE TABLE chunk(seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, rank INTEGER NOT NULL, "
    "key INTEGER NOT NULL, rows INTEGER NOT NULL, checksum INTEGER NOT NULL, body BLOB NOT NULL)";
inline constexpr const char* kCreateChunkIndex = "CREATE INDEX chunk_by_kind ON chunk(kind, key)";
/// The table of injected mistakes and of the command line and control log that name them. See
/// sealed.h.
inline constexpr const char* kCreateSealed =
    "CREATE TABLE sealed(id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL)";

}  // namespace ringscope::traces
