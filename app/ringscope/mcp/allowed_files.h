// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ringscope::app {

/// The files that the tools may read: those under the folders that the user named.
class AllowedFiles {
 public:
  /// Throws usageError for a path that is no folder.
  explicit AllowedFiles(const std::vector<std::string>& folders);

  /// Returns the absolute path of a recording, which is a file or a recorder's folder, without
  /// symbolic links. A relative path is searched in every folder. Throws inputError when there is
  /// no such file, or when the file, or one that its folder links to, lies outside of the folders.
  std::string resolve(const std::string& path) const;

 private:
  bool contains(const std::filesystem::path& canonical) const;
  /// Throws inputError for a folder with a link that leads out of the folders.
  void checkLinks(const std::filesystem::path& folder) const;

  std::vector<std::filesystem::path> folders_;  ///< canonical
};

}  // namespace ringscope::app
