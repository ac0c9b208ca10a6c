// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ringscope::traces {

/// A question that is asked often, ready to be run and to be changed.
struct NamedQuery {
  const char* name;
  const char* says;  ///< a clause for the user
  const char* sql;
};

std::span<const NamedQuery> namedQueries();
/// Throws usageError that lists them when there is none of this name.
const NamedQuery& namedQuery(std::string_view name);

}  // namespace ringscope::traces
