// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "traces/exchange/import/format.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"

namespace ringscope::fuzz {

/// Writes an input as a file of this process's own, and reads what an importer makes of it with the
/// read model. The file is in memory where the system has such a place. `ending` tells the files of
/// targets apart.
template <auto open>
int importFile(const std::uint8_t* data, std::size_t size, const char* ending) {
  // Never destroyed: it is asked for at the very end.
  static const std::string& file = *[ending] {
    const char* in = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    return new std::string(std::string(in) + "/ringscope-fuzz-" + std::to_string(::getpid()) +
                           ending);
  }();
  static const int removed = std::atexit([] { std::filesystem::remove(file); });
  static_cast<void>(removed);
  std::ofstream(file).write(reinterpret_cast<const char*>(data),
                            static_cast<std::streamsize>(size));
  try {
    traces::Trace trace;
    open(file)->readAll([&](const traces::Chunk& chunk) { trace.add(chunk); },
                        [](const std::string&) {});
    trace.problems();
  } catch (const Error&) {  // which is how a file is refused
  }
  return 0;
}

}  // namespace ringscope::fuzz
