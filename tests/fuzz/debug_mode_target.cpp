// SPDX-License-Identifier: Apache-2.0
// A log of PyTorch's DebugMode, as the read model takes it.
#include "tests/fuzz/importer_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return ringscope::fuzz::importFile<ringscope::traces::openDebugMode>(data, size, ".json");
}
