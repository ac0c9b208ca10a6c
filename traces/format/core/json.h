// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// Limits for any JSON from outside: a note, a configuration, a header, a message. Copying and
/// writing a document recurse once per level, and a parsed document takes many times the memory of
/// its text.
inline constexpr int kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonBytes = 100'000'000;  // as safetensors limits its header

/// Returns the parsed document. Throws inputError when the text is no JSON, is nested too deeply or
/// is too long; the message begins with `source`.
nlohmann::json parseJson(std::string_view text, const std::string& source);

/// Parses a file in the same way. Reads no more than kMaxJsonBytes.
nlohmann::json readJson(const std::string& path);

}  // namespace ringscope::traces
