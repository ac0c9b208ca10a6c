// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ringscope::traces {

/// A frequent question as a query that can be run and modified.
struct NamedQuery {
  const char* name;
  const char* says;  ///< a clause for the user
  const char* sql;
};

std::span<const NamedQuery> namedQueries();
/// Returns the query of this name. Throws usageError that lists all names when there is none.
const NamedQuery& namedQuery(std::string_view name);

}  // namespace ringscope::traces
