// SPDX-License-Identifier: Apache-2.0
// An export of Nsight Systems, as the read model takes it.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "traces/exchange/import/format.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"

namespace {

/// The file of this process's own, in memory where the system has such a place.
const std::string& file() {
  // Never destroyed: it is asked for at the very end.
  static const std::string& made = *[] {
    const char* in = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    std::atexit([] { std::filesystem::remove(file()); });
    return new std::string(std::string(in) + "/ringscope-fuzz-nsight-" +
                           std::to_string(::getpid()) + ".sqlite");
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringscope::traces;
  std::ofstream(file()).write(reinterpret_cast<const char*>(data),
                              static_cast<std::streamsize>(size));
  try {
    Trace trace;
    openNsight(file())->readAll([&](const Chunk& chunk) { trace.add(chunk); },
                                [](const std::string&) {});
    trace.problems();
  } catch (const ringscope::Error&) {  // which is how a file is refused
  }
  return 0;
}
