// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "traces/format/storage/file_in_use.h"

struct sqlite3;

namespace ringscope::traces {

struct ReadOnlyDatabase {
  sqlite3* handle = nullptr;
  /// Set when a recorder may be at work, which cannot finish while this stays open.
  std::optional<FileInUse> live = {};
};

/// Opens an untrusted trace for reading. SQLite by itself would act on the files beside a database.
/// It rolls back a journal, deletes the file that the journal names as its super-journal, and
/// creates files of its own beside a WAL. Therefore:
/// The file must be a plain file that begins as a trace does. This is checked first.
/// A hot journal is rolled back in a private copy, and never when it names a super-journal.
/// A WAL that a killed recorder left is read in place, without locks and without changes. The
/// index beside it is ignored.
/// The WAL of a running recorder, recognised by its locks, is read with SQLite's own locks.
/// Throws inputError with the file's name.
ReadOnlyDatabase openReadOnly(const std::string& path);

/// Opens an untrusted database of another program as it is, and returns its handle: read-only,
/// without locks, and without the files beside it. The caller closes it. Throws inputError with the
/// file's name.
sqlite3* openForeignDatabase(const std::string& path);

/// Returns the first bytes of a plain file, padded with zeros; all zeros when the file cannot be
/// read. Keeps the locks that a recorder in this process holds on the file, which closing a
/// descriptor of the file would drop.
std::array<std::uint8_t, 128> readFileHead(const std::string& path);

}  // namespace ringscope::traces
