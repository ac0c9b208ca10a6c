// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/exchange/tables/table.h"

struct sqlite3;

namespace ringscope::traces {

/// The recording that a connection's tables read, and the error that occurred in them. Must outlive
/// the connection.
struct Queried {
  const QueriedTrace* traced = nullptr;  ///< of the running query
  std::optional<Error> failure;          ///< reason why a table could not be read
};

/// Registers a table with a connection under its name, as an eponymous virtual table. No statement
/// can create, change or drop it.
void addModule(sqlite3* db, const Table& table, Queried& queried);

}  // namespace ringscope::traces
