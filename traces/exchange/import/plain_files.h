// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ringscope::traces {

/// Returns the paths of a folder's plain files that `chosen` selects, ascending; none when the
/// folder cannot be read. Skips links, because a link could lead anywhere.
std::vector<std::string> plainFiles(const std::string& folder,
                                    const std::function<bool(const std::string& path)>& chosen);

}  // namespace ringscope::traces
