// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/core/error.h"

namespace ringscope::engine {

/// Throws inputError "SOURCE: WHAT" unless a configuration is fine.
inline void refuseUnless(bool fine, const std::string& source, const std::string& what) {
  if (!fine) throw inputError(source + ": " + what);
}

}  // namespace ringscope::engine
