// SPDX-License-Identifier: Apache-2.0
// A recorded job's folder: lines of its ranks, parted by a zero byte, as the importer reads them
// and the read model takes what it makes of them.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "traces/import/format.h"
#include "traces/query/trace.h"

namespace {

/// A folder of this process's own, in memory where the system has such a place.
const std::string& folder() {
  // Never destroyed: it is asked for at the very end.
  static const std::string& made = *[] {
    const char* in = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    std::string name = std::string(in) + "/ringscope-fuzz-" + std::to_string(::getpid());
    std::filesystem::create_directories(name);
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return new std::string(name);
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringscope::traces;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  std::ofstream(folder() + "/rank-00000.jsonl") << text.substr(0, cut);
  std::ofstream(folder() + "/rank-00001.jsonl") << text.substr(std::min(cut + 1, text.size()));
  try {
    const auto source = openRecording(folder());
    Trace trace;
    source->readAll([&](const Chunk& chunk) { trace.add(chunk); }, [](const std::string&) {});
    trace.problems();
  } catch (const ringscope::Error&) {  // which is how a folder is refused
  }
  return 0;
}
