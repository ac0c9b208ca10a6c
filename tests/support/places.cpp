// SPDX-License-Identifier: Apache-2.0
#include "tests/support/places.h"

namespace ringscope::test {

const char* const kSources = RINGSCOPE_SOURCE_DIR;
const char* const kProgram = RINGSCOPE_PROGRAM;
const char* const kWindow = RINGSCOPE_WINDOW;
const char* const kNvtxInjection = RINGSCOPE_NVTX_INJECTION;

}  // namespace ringscope::test
