// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/plain_event.h"

#include <bit>
#include <charconv>
#include <cstring>

namespace ringscope::traces {
namespace {

constexpr int kMostDepth = 16;  // below that of the parser that reads everything else
constexpr std::size_t kMostName = 256, kMostCategory = 64;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr std::uint64_t repeated(unsigned char byte) {
  return byte * std::uint64_t{0x0101010101010101};
}

/// Marks the bytes of a word that are zero by their highest bit, and perhaps bytes after these.
std::uint64_t zeroBytes(std::uint64_t word) {
  return (word - repeated(1)) & ~word & repeated(0x80);
}

/// Returns how many of the word's bytes, from the first on, are plain text: printable ASCII
/// without quotation marks and backslashes.
std::size_t plainBytes(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  const std::uint64_t control = (word - repeated(' ')) & ~word & repeated(0x80);
  const std::uint64_t others = (word | (word + repeated(1))) & repeated(0x80);
  const std::uint64_t marks =
      control | others | zeroBytes(word ^ repeated('"')) | zeroBytes(word ^ repeated('\\'));
  return static_cast<std::size_t>(std::countr_zero(marks)) / 8;
}

bool isPlain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

}  // namespace

bool PlainEvent::read() {
  if (!readMembers([this](std::string_view key) { return readField(key); })) return false;
  event_.end_ns = event_.begin_ns + duration_ns_;
  return true;
}

bool PlainEvent::readField(std::string_view key) {
  if (key == "ph") return readText(phase_, kMostCategory);
  if (key == "cat") return readText(event_.category, kMostCategory);
  if (key == "name") return readText(event_.name, kMostName);
  if (key == "ts") return readTime(event_.begin_ns, kMostKinetoNs);
  if (key == "dur") return readTime(duration_ns_, kLongestKinetoNs);
  if (key == "tid") return readThread();
  if (key != "args" || next() != '{') return skipValue(1);
  event_.arguments = {};
  return readMembers([this](std::string_view name) { return readArgument(name); });
}

bool PlainEvent::readArgument(std::string_view key) {
  const std::size_t begin = at_;
  if (!skipValue(2)) return false;
  if (const auto argument = kinetoArgument(key))
    event_.arguments[static_cast<std::size_t>(*argument)] = text_.substr(begin, at_ - begin);
  return true;
}

bool PlainEvent::readTime(std::int64_t& ns, std::int64_t most_ns) {
  const std::size_t begin = at_;
  const bool is_number = next() == '-' || isDigit(next());
  if (!skipValue(1)) return false;
  const auto time = is_number ? kinetoNanoseconds(text_.substr(begin, at_ - begin)) : std::nullopt;
  has_wrong_time_ = has_wrong_time_ || !time || *time > most_ns;
  ns = time.value_or(0);
  return true;
}

/// A thread that is no whole number stays 0.
bool PlainEvent::readThread() {
  const std::size_t begin = at_;
  const bool is_number = next() == '-' || isDigit(next());
  if (!skipValue(1)) return false;
  if (!is_number) return true;
  std::int64_t thread = 0;
  const auto [at, error] = std::from_chars(text_.data() + begin, text_.data() + at_, thread);
  if (error != std::errc()) return false;
  if (at == text_.data() + at_) event_.thread = thread;
  return true;
}

/// A value that is no text leaves `text` as it is.
bool PlainEvent::readText(std::string_view& text, std::size_t most_bytes) {
  if (next() != '"') return skipValue(1);
  const std::size_t begin = at_ + 1;
  bool is_escaped = false;
  if (!skipText(is_escaped) || is_escaped) return false;
  text = text_.substr(begin, at_ - 1 - begin);
  return text.size() <= most_bytes;
}

/// Reads an object. `read_member` reads a member's value, which begins at the current place.
template <typename ReadMember>
bool PlainEvent::readMembers(const ReadMember& read_member) {
  if (!skip('{')) return false;
  skipSpace();
  if (skip('}')) return true;
  while (true) {
    const std::size_t begin = at_ + 1;
    bool is_escaped = false;
    if (!skipText(is_escaped) || is_escaped) return false;
    const std::string_view key = text_.substr(begin, at_ - 1 - begin);
    skipSpace();
    if (!skip(':')) return false;
    skipSpace();
    if (!read_member(key)) return false;
    skipSpace();
    if (skip('}')) return true;
    if (!skip(',')) return false;
    skipSpace();
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostDepth limits it
bool PlainEvent::skipValue(int depth) {
  bool is_escaped = false;
  switch (next()) {
    case '"':
      return skipText(is_escaped);
    case '[':
      return depth < kMostDepth && skipList(depth + 1);
    case '{':
      return depth < kMostDepth &&
             readMembers([this, depth](std::string_view /*key*/) { return skipValue(depth + 1); });
    case 't':
      return skipWord("true");
    case 'f':
      return skipWord("false");
    case 'n':
      return skipWord("null");
    default:
      return skipNumber();
  }
}

// NOLINTNEXTLINE(misc-no-recursion): kMostDepth limits it
bool PlainEvent::skipList(int depth) {
  ++at_;
  skipSpace();
  if (skip(']')) return true;
  while (skipValue(depth)) {
    skipSpace();
    if (skip(']')) return true;
    if (!skip(',')) return false;
    skipSpace();
  }
  return false;
}

/// Skips a text with its quotation marks. Sets `is_escaped` when it has a backslash.
bool PlainEvent::skipText(bool& is_escaped) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (!skip('"')) return false;
  while (true) {
    while (at_ + kWord <= text_.size()) {
      const std::size_t plain = plainBytes(text_.data() + at_);
      at_ += plain;
      if (plain < kWord) break;
    }
    while (isPlain(next())) ++at_;
    if (next() != '\\') return skip('"');
    is_escaped = true;
    if (at_ + 1 >= text_.size() || kEscapes.find(text_[at_ + 1]) == std::string_view::npos)
      return false;
    at_ += 2;
  }
}

/// Skips a number that a double can hold: a parser takes others for damage.
bool PlainEvent::skipNumber() {
  constexpr std::size_t kMostDigits = 100;
  const std::size_t begin = at_;
  skip('-');
  if (!skip('0') && !skipDigits()) return false;
  if (skip('.') && !skipDigits()) return false;
  if (at_ - begin > kMostDigits) return false;
  if (next() != 'e' && next() != 'E') return true;
  ++at_;
  if (!skip('+')) skip('-');
  const std::size_t exponent = at_;
  return skipDigits() && at_ - exponent <= 2;
}

bool PlainEvent::skipDigits() {
  const std::size_t begin = at_;
  while (isDigit(next())) ++at_;
  return at_ > begin;
}

bool PlainEvent::skipWord(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

}  // namespace ringscope::traces
