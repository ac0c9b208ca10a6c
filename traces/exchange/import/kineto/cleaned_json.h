// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <streambuf>
#include <string>

namespace ringscope::traces {

/// JSON text without what makes a strict parser reject a whole file. NaN and infinities, which
/// Python's json module writes, become null. In strings, bytes that are no UTF-8 become U+FFFD,
/// control characters become spaces, and unknown escapes become question marks.
class CleanedJson : public std::streambuf {
 public:
  explicit CleanedJson(std::istream& in) : in_(in) {}
  std::int64_t changes() const { return changes_; }

 protected:
  int_type underflow() override;

 private:
  void takeChar(char c);
  void takeInString(char c);
  void endWord();
  void endString();

  std::istream& in_;
  std::string out_;     ///< the cleaned text of one block
  std::string word_;    ///< letters outside of strings, and a minus before them
  std::string string_;  ///< the string that is open, or its last part
  bool in_string_ = false, escaped_ = false;
  std::int64_t changes_ = 0;
};

}  // namespace ringscope::traces
