// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/resources.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "traces/format/core/error.h"

#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

namespace ringscope::traces {

namespace fs = std::filesystem;

std::string executableFolder() {
  std::error_code error;
#ifdef __APPLE__
  std::string name(4096, '\0');
  std::uint32_t size = static_cast<std::uint32_t>(name.size());
  if (::_NSGetExecutablePath(name.data(), &size) != 0) return fs::current_path().string();
  const fs::path self = fs::canonical(name.c_str(), error);
#else
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
#endif
  return error ? fs::current_path().string() : self.parent_path().string();
}

std::string programBeside(const std::string& name) {
  const char* folder = std::getenv("RINGSCOPE_PROGRAMS");
  for (const std::string& place : {executableFolder(), std::string(folder ? folder : "")}) {
    const fs::path path = fs::path(place) / name;
    if (!place.empty() && fs::is_regular_file(path)) return path.string();
  }
  return "";
}

std::string resourcePath(const std::string& relative) {
  if (const char* folder = std::getenv("RINGSCOPE_RESOURCES")) {
    const fs::path path = fs::path(folder) / relative;
    if (fs::exists(path)) return path.string();
  }
  const fs::path start = executableFolder();
  for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
    for (const char* place : {"resources", "share/ringscope"}) {
      const fs::path path = folder / place / relative;
      if (fs::exists(path)) return path.string();
    }
    if (folder == folder.root_path()) break;
  }
  throw inputError("the resource " + relative + " was not found above " + start.string() +
                   "; set RINGSCOPE_RESOURCES to the folder that holds it");
}

}  // namespace ringscope::traces
