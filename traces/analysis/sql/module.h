// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/exchange/tables/table.h"

struct sqlite3;

namespace ringscope::traces {

/// What a connection's tables read, and what went wrong in them. Outlives the connection.
struct Queried {
  const QueriedTrace* traced = nullptr;  ///< of the query that runs
  std::optional<Error> failure;          ///< why a table could not be read
};

/// Makes a table known to a connection under its name, as an eponymous virtual table: there is no
/// statement that creates, changes or drops it.
void addModule(sqlite3* db, const Table& table, Queried& queried);

}  // namespace ringscope::traces
