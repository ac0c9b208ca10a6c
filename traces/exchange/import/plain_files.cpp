// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/plain_files.h"

#include <algorithm>
#include <filesystem>

namespace ringscope::traces {

std::vector<std::string> plainFiles(const std::string& folder,
                                    const std::function<bool(const std::string& path)>& chosen) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    if (!fs::is_regular_file(at->symlink_status(unreadable)) || unreadable) continue;
    if (const std::string path = at->path().string(); chosen(path)) found.push_back(path);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace ringscope::traces
