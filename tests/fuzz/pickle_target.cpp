// SPDX-License-Identifier: Apache-2.0
// A pickled dump of the Flight Recorder.
#include "traces/exchange/import/flight_recorder/pickle.h"
#include "traces/format/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    ringscope::traces::parsePickle({reinterpret_cast<const char*>(data), size}, "the file");
  } catch (const ringscope::Error&) {  // which is how a file is refused
  }
  return 0;
}
