// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "app/ringscope/mcp/allowed_files.h"

namespace ringscope::app {

/// Draws a view with ringscope-gui and returns a tool's result with the picture as base64. Throws
/// Error when the window is not installed, or when it cannot draw the view.
nlohmann::json drawPicture(const nlohmann::json& arguments, const AllowedFiles& files);

}  // namespace ringscope::app
