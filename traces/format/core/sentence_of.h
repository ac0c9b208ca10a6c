// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace ringscope::traces {

/// Returns one sentence for the user about any exception. Cuts a library's own text where its stack
/// trace begins. Describes memory and threads that the system refused.
std::string toSentence(const std::exception& error);

}  // namespace ringscope::traces
