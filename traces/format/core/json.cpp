// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/json.h"

#include <algorithm>

#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"

namespace ringscope::traces {
namespace {

/// Returns the deepest nesting of lists and objects. `text` need not be valid JSON.
int depthOf(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

nlohmann::json parseJson(std::string_view text, const std::string& source) {
  if (text.size() > kMaxJsonBytes)
    throw inputError(source + ": is JSON of more than " + std::to_string(kMaxJsonBytes) + " bytes");
  if (depthOf(text) > kMaxJsonDepth)
    throw inputError(source + ": is nested more than " + std::to_string(kMaxJsonDepth) +
                     " levels deep");
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw inputError(source + ": is not valid JSON");
  return json;
}

nlohmann::json readJson(const std::string& path) {
  return parseJson(readFile(path, kMaxJsonBytes), path);
}

}  // namespace ringscope::traces
