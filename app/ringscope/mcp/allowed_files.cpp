// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/mcp/allowed_files.h"

#include <algorithm>
#include <cstddef>
#include <system_error>

#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPathBytes = 4096;
constexpr int kMostEntries = 100'000;

std::string quote(const std::string& path) {
  return "'" + traces::toPlainText(path, 200) + "'";
}

Error outside(const std::string& path) {
  return inputError(quote(path) +
                    " is outside of the folders that this server may read; start `ringscope mcp` "
                    "with its folder to allow it");
}

}  // namespace

AllowedFiles::AllowedFiles(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path canonical = fs::canonical(folder, error);
    if (error || !fs::is_directory(canonical, error))
      throw usageError(quote(folder) + " is not a folder; name the folders that hold recordings");
    folders_.push_back(canonical);
  }
}

std::string AllowedFiles::resolve(const std::string& path) const {
  if (path.empty() || path.size() > kMostPathBytes || path.find('\0') != std::string::npos)
    throw inputError("the path of a recording is empty, too long or contains a zero byte");
  bool exists = false;
  for (const fs::path& folder : folders_) {
    std::error_code error;
    const fs::path canonical = fs::canonical(folder / path, error);
    if (error) continue;
    exists = true;
    if (!contains(canonical)) continue;
    if (fs::is_directory(canonical, error))
      checkLinks(canonical);
    else if (!fs::is_regular_file(canonical, error))
      throw inputError(quote(path) + " is neither a file nor a folder");
    return canonical.string();
  }
  // A path outside is refused in the same words whether it exists or not.
  if (exists || fs::path(path).is_absolute() || path.find("..") != std::string::npos)
    throw outside(path);
  throw inputError("there is no " + quote(path) + " in the folders that this server may read");
}

bool AllowedFiles::contains(const fs::path& canonical) const {
  return std::any_of(folders_.begin(), folders_.end(), [&](const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), canonical.begin(), canonical.end()).first ==
           folder.end();
  });
}

void AllowedFiles::checkLinks(const fs::path& folder) const {
  int entries = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (++entries > kMostEntries)
      throw inputError(quote(folder.string()) + " has too many files; name one recording");
    if (!at->is_symlink(error)) continue;
    const fs::path target = fs::canonical(at->path(), error);
    if (error || !contains(target)) throw outside(at->path().string());
  }
  if (error) throw inputError(quote(folder.string()) + " cannot be read: " + error.message());
}

}  // namespace ringscope::app
