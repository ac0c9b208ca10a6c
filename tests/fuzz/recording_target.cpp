// SPDX-License-Identifier: Apache-2.0
// Imports the folder of a recorded job, and reads the resulting chunks with the read model. The
// input holds the lines of two ranks and a file of values, separated by zero bytes.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "traces/exchange/import/format.h"
#include "traces/format/trace/trace.h"

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

void readValues(ringscope::traces::ChunkSource& source,
                const ringscope::traces::TensorRecord& tensor) {
  try {
    if (tensor.has_values) source.values(tensor.id);
  } catch (const ringscope::Error&) {  // which is how damaged values are refused
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringscope::traces;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"rank-00000.jsonl", "rank-00001.jsonl"}) {
    const std::string_view lines = rest.substr(0, rest.find('\0'));
    std::ofstream(folder() + "/" + name) << lines;
    rest.remove_prefix(std::min(lines.size() + 1, rest.size()));
  }
  std::ofstream(folder() + "/rank-00000.values-0000.safetensors", std::ios::binary) << rest;
  try {
    const auto source = openRecording(folder());
    Trace trace;
    source->readAll([&](const Chunk& chunk) { trace.add(chunk); }, [](const std::string&) {});
    trace.problems();
    for (const TensorRecord& tensor : trace.tensors()) readValues(*source, tensor);
  } catch (const ringscope::Error&) {  // which is how a folder is refused
  }
  return 0;
}
