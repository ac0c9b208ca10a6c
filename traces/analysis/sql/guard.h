// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sqlite3;

namespace ringscope::traces {

/// Restricts a connection to SELECT over the tables of this folder and over JSON, with functions
/// that only compute. Forbids every other table, pragmas, ATTACH, writes and functions that access
/// files. Limits the length of texts and statements.
void guard(sqlite3* db);

}  // namespace ringscope::traces
