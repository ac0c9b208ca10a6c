// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sqlite3;

namespace ringscope::traces {

/// Leaves of a connection nothing but SELECT over the tables of this folder and over JSON, with
/// functions that compute: no other table, no pragma, no ATTACH, nothing that writes, no function
/// that reaches a file, and bounds on the length of texts and statements.
void guard(sqlite3* db);

}  // namespace ringscope::traces
