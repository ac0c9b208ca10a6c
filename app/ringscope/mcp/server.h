// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "app/ringscope/mcp/allowed_files.h"

namespace ringscope::app {

/// Answers messages of the Model Context Protocol, one JSON-RPC 2.0 message per line, until the end
/// of the input. See https://modelcontextprotocol.io/specification.
void serve(std::istream& in, std::ostream& out, const AllowedFiles& files);

}  // namespace ringscope::app
