// SPDX-License-Identifier: Apache-2.0
// A SQLite export of Nsight Systems, as the read model takes it.
#include "tests/fuzz/importer_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return ringscope::fuzz::importFile<ringscope::traces::openNsight>(data, size, ".sqlite");
}
