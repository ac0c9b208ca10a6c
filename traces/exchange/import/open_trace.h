// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Opens a recording of any known format, which is recognised by its content. Throws inputError
/// when the file cannot be opened at all. Damaged parts are left out and listed in problems().
std::shared_ptr<Trace> openTrace(const std::string& path);

}  // namespace ringscope::traces
