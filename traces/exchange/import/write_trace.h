// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/exchange/import/redaction.h"

namespace ringscope::traces {

/// Opens a recording of any format and writes it as a .rscope file, which appears when it is
/// complete. Returns sentences about what could not be read and was left out. `without` names what
/// may not be shared; sealed mistakes are never written. Throws inputError.
std::vector<std::string> writeTrace(const std::string& recording, const std::string& output,
                                    const Redaction& without = {});

}  // namespace ringscope::traces
