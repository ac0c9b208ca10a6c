// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/framework.h"

namespace ringscope::traces {

std::optional<Framework> findFramework(const Trace& trace) {
  const auto notes = trace.notes(kFrameworkNote);
  std::optional<Framework> framework;
  for (const nlohmann::json* note : notes) {
    const auto named = note->is_string()
                           ? findByName<Framework>(note->get_ref<const std::string&>())
                           : std::nullopt;
    if (!named || (framework && framework != named)) return std::nullopt;
    framework = named;
  }
  return notes.empty() ? std::optional(Framework::kRingScope) : framework;
}

bool isForeign(const Trace& trace) {
  return findFramework(trace) != Framework::kRingScope;
}

}  // namespace ringscope::traces
