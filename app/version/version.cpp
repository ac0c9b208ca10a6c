// SPDX-License-Identifier: Apache-2.0
#include "app/version/version.h"

namespace ringscope::app {
namespace {

#if defined(__x86_64__) || defined(_M_X64)
constexpr const char kProcessor[] = "x86_64";
#elif defined(__aarch64__) || defined(_M_ARM64)
constexpr const char kProcessor[] = "aarch64";
#else
constexpr const char kProcessor[] = "unknown processor";
#endif

}  // namespace

std::string describeVersion() {
  return std::string(RINGSCOPE_VERSION " (commit ") + kCommit + ", " RINGSCOPE_BUILD ", " +
         kProcessor + ")";
}

}  // namespace ringscope::app
