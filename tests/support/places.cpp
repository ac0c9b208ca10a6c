// SPDX-License-Identifier: Apache-2.0
#include "tests/support/places.h"

#include <cstdlib>

namespace ringscope::test {

const char* const kSources = RINGSCOPE_SOURCE_DIR;
const char* const kProgram = std::getenv("RINGSCOPE_TEST_PROGRAM")
                                 ? std::getenv("RINGSCOPE_TEST_PROGRAM")
                                 : RINGSCOPE_PROGRAM;
const char* const kWindow = RINGSCOPE_WINDOW;
const char* const kNvtxInjection = RINGSCOPE_NVTX_INJECTION;

}  // namespace ringscope::test
