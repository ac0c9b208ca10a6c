// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/open_trace.h"

#include "traces/exchange/import/format.h"

namespace ringscope::traces {

std::shared_ptr<Trace> openTrace(const std::string& path) {
  return readTrace(openSource(path));
}

}  // namespace ringscope::traces
