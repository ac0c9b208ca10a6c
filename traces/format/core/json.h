// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// What any JSON from outside may be: a note, a configuration, a header, a message. Copying and
/// writing a document out recurse once a level, and a parsed document takes many times the memory
/// of its text.
inline constexpr int kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonBytes = 100'000'000;  // as safetensors limits its header

/// The document, or a sentence that says what is wrong with it: no JSON, nested too deeply, too
/// long. `source` begins the sentence. Throws inputError with it.
nlohmann::json parseJson(std::string_view text, const std::string& source);

/// The same of a file, without reading more than a document may have.
nlohmann::json readJson(const std::string& path);

}  // namespace ringscope::traces
