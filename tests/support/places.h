// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// The locations of files are compiled into one small library only, so that the objects of a test
// are the same in every clone.
namespace ringscope::test {

extern const char* const kSources;        ///< folder of the sources
extern const char* const kProgram;        ///< the command line program
extern const char* const kWindow;         ///< the window's program; empty when it is not built
extern const char* const kNvtxInjection;  ///< the library that records NVTX ranges; empty when it
                                          ///< is not built

/// Returns the path of a file or folder of the sources.
inline std::string inSources(const std::string& path) {
  return std::string(kSources) + "/" + path;
}

}  // namespace ringscope::test
