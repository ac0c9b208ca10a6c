// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/exchange/import/kineto/kineto_event.h"

namespace ringscope::traces {

/// A strict reader of an event's text, from its opening brace to the closing one. It reads plain
/// JSON only: ASCII, little nesting, and short escapes in texts that tell no event from another.
/// Nearly all events are plain, and a parser of any JSON needs several times as long.
class PlainEvent {
 public:
  explicit PlainEvent(std::string_view text) : text_(text) {}

  /// Reads the event. Returns false when the text is not plain JSON, or ends before the event.
  bool read();

  /// Returns the event. Its texts are parts of the text that was read.
  const KinetoEvent& event() const { return event_; }
  std::string_view phase() const { return phase_; }
  bool hasWrongTime() const { return has_wrong_time_; }
  std::size_t size() const { return at_; }

 private:
  bool readField(std::string_view key);
  bool readArgument(std::string_view key);
  bool readTime(std::int64_t& ns, std::int64_t most_ns);
  bool readThread();
  bool readText(std::string_view& text, std::size_t most_bytes);

  template <typename ReadMember>
  bool readMembers(const ReadMember& read_member);
  bool skipValue(int depth);
  bool skipList(int depth);
  bool skipText(bool& is_escaped);
  bool skipNumber();
  bool skipDigits();
  bool skipWord(std::string_view word);
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool skip(char c) {
    const bool skips = next() == c;
    at_ += skips ? 1 : 0;
    return skips;
  }
  void skipSpace() {
    while (next() == ' ' || next() == '\n' || next() == '\r' || next() == '\t') ++at_;
  }

  std::string_view text_, phase_;
  std::size_t at_ = 0;
  std::int64_t duration_ns_ = 0;
  bool has_wrong_time_ = false;
  KinetoEvent event_;
};

}  // namespace ringscope::traces
