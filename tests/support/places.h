// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// Where things lie is compiled into one small library alone, so that what is compiled of a test is
// the same in every clone.
namespace ringscope::test {

extern const char* const kSources;        ///< the folder of the sources
extern const char* const kProgram;        ///< the command line
extern const char* const kWindow;         ///< the window's program; empty where it is not built
extern const char* const kNvtxInjection;  ///< the library that records NVTX ranges; likewise

/// A file or folder of the sources, by its path there.
inline std::string inSources(const std::string& path) {
  return std::string(kSources) + "/" + path;
}

}  // namespace ringscope::test
