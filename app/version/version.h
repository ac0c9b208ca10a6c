// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::app {

/// The first eight digits of the commit that the program was built from, or "unknown". The build
/// writes the definition.
extern const char* const kCommit;

/// Returns the version, the commit, the kind of build and the processor, such as
/// "0.1.0 (commit 4f617be4, release, x86_64)".
std::string describeVersion();

}  // namespace ringscope::app
