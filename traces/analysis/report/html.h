// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "traces/analysis/report/markdown.h"

namespace ringscope::traces {

/// Returns text in which HTML sees no markup. Control characters and invalid bytes are replaced.
std::string escapeHtml(const std::string& text);

/// Returns JSON for a <script> element. No string in it can end the element.
std::string toScriptJson(const nlohmann::json& json);

/// Returns the lines about the run and the line about the findings as elements of a page.
std::string summaryHtml(const Report& report);

/// Returns the findings as elements of a page: evidence, what to change, how to reproduce. The
/// button of a finding has the attributes data-view and data-position.
std::string findingsHtml(const Report& report);

/// Returns the numbers of rules that were clear or could not judge, and what to add for more.
std::string checksHtml(const Report& report);

}  // namespace ringscope::traces
