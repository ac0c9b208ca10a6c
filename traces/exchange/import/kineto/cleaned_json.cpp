// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/cleaned_json.h"

#include <array>
#include <cctype>
#include <string_view>

#include "traces/format/core/utf8.h"

namespace ringscope::traces {

CleanedJson::int_type CleanedJson::underflow() {
  constexpr std::size_t kBlock = 1 << 16;
  out_.clear();
  while (out_.empty()) {
    std::array<char, kBlock> block{};
    // Takes no more than is at hand: the source may do more than read when it is asked for more.
    in_.peek();
    const auto count = static_cast<std::size_t>(in_ ? in_.readsome(block.data(), block.size()) : 0);
    for (std::size_t i = 0; i < count; ++i) takeChar(block[i]);
    if (count > 0) continue;
    endWord();
    endString();
    if (out_.empty()) return traits_type::eof();
  }
  setg(out_.data(), out_.data(), out_.data() + out_.size());
  return traits_type::to_int_type(out_.front());
}

void CleanedJson::takeChar(char c) {
  constexpr std::size_t kMostPending = 1 << 20;
  if (in_string_) return takeInString(c);
  const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
  if ((letter || (c == '-' && word_.empty())) && word_.size() < kMostPending) {
    word_ += c;
    return;
  }
  endWord();
  out_ += c;
  in_string_ = c == '"';
}

void CleanedJson::takeInString(char c) {
  constexpr std::size_t kMostPending = 1 << 20;
  constexpr std::string_view kEscapes = "\"\\/bfnrtu";
  if (escaped_) {
    escaped_ = false;
    if (kEscapes.find(c) == std::string_view::npos) {
      string_.back() = '?';  // in place of the backslash
      ++changes_;
    }
  } else if (c == '"') {
    endString();
    out_ += c;
    in_string_ = false;
    return;
  } else if (static_cast<unsigned char>(c) < ' ') {
    c = ' ';
    ++changes_;
  } else {
    escaped_ = c == '\\';
  }
  string_ += c;
  if (string_.size() >= kMostPending && !escaped_) endString();
}

void CleanedJson::endWord() {
  if (word_.empty()) return;
  std::string plain;
  for (const char c : word_)
    if (c != '-') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool no_number = plain == "nan" || plain == "inf" || plain == "infinity";
  if (no_number) ++changes_;
  out_ += no_number ? "null" : word_;
  word_.clear();
}

void CleanedJson::endString() {
  if (!isUtf8(string_)) {
    string_ = toUtf8(string_);
    ++changes_;
  }
  out_ += string_;
  string_.clear();
}

}  // namespace ringscope::traces
