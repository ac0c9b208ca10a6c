// SPDX-License-Identifier: Apache-2.0
#include "traces/format/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringscope::traces;
  try {
    const auto file = SafeTensorsFile::parse(Bytes(data, data + size), "the file");
    volatile std::uint8_t seen = 0;
    for (const auto& [name, view] : file.tensors())
      for (std::size_t i = 0; i < view.size_bytes; ++i) seen = view.data[i];
    (void)seen;
  } catch (const ringscope::Error&) {
  }
  return 0;
}
