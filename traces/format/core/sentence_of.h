// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace ringscope::traces {

/// What any exception says to a user, in one sentence: a library's own text ends where its list of
/// calls begins, and of memory and threads that were refused it is said that they were.
std::string sentenceOf(const std::exception& error);

}  // namespace ringscope::traces
