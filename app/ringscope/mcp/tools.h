// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/ringscope/mcp/allowed_files.h"

namespace ringscope::app {

/// Returns the tools with their descriptions and JSON schemas, as tools/list answers them.
nlohmann::json listTools();

/// Reports whether there is a tool of this name.
bool isTool(const std::string& name);

/// Runs a tool and returns its result, as tools/call answers it: content, and isError when it
/// failed. Every tool runs a command of RingScope in a process of its own, so that a damaged
/// recording cannot end the server. Does not throw for wrong arguments; they are a result with
/// isError.
nlohmann::json callTool(const std::string& name, const nlohmann::json& arguments,
                        const AllowedFiles& files);

}  // namespace ringscope::app
