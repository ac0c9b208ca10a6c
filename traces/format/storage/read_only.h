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
  /// A recorder may be at work, and cannot finish while this stays open.
  std::optional<FileInUse> live = {};
};

/// Opens a trace that may come from a stranger, for reading. SQLite would otherwise act on whatever
/// lies beside a database: it rolls a journal back into it and deletes the file that the journal
/// names as its super-journal, and it makes files of its own beside a WAL.
/// - The file must be a plain file that begins as a trace does; only then is anything else done.
/// - A hot journal is rolled back in a private copy, and never when it names a super-journal.
/// - A WAL that a killed recorder left is read where it lies, without locks and without changes;
///   its index beside it is not looked at.
/// - The WAL of a recorder that is at work, as its locks tell, is read with SQLite's own locks.
/// Throws inputError with the file's name.
ReadOnlyDatabase openReadOnly(const std::string& path);

/// The first bytes of a plain file, filled up with zeros; all zeros when it cannot be read. Locks
/// that a recorder in this process holds on the file stay, which a descriptor of our own would
/// drop.
std::array<std::uint8_t, 128> headOf(const std::string& path);

}  // namespace ringscope::traces
