// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/recorded_file.h"

#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

std::shared_ptr<const traces::Trace> RecordedFile::trace() {
  const traces::MutexLock lock(mutex_);
  if (!trace_) trace_ = traces::openTrace(path_);
  return trace_;
}

}  // namespace ringscope::viz
