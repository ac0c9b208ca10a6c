// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// Returns the content of TABLES.md: every table with its columns, and every named query, as
/// Markdown.
std::string describeTables();

}  // namespace ringscope::traces
