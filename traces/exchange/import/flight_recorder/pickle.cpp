// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/flight_recorder/pickle.h"

#include <array>
#include <bit>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "traces/exchange/import/flight_recorder/pickle_opcodes.h"
#include "traces/exchange/import/flight_recorder/pickle_values.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

using Id = PickleValues::Id;
using Kind = PickleValues::Kind;

/// The end of the bytes in the middle of a pickle.
struct EndsEarly {};

class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& source)
      : bytes_(bytes), source_(source) {}

  PickledValue read() {
    try {
      const std::string damage = readOpcodes();
      return {stack_.empty() ? nlohmann::json() : values_.toJson(stack_.front()), damage};
    } catch (const std::length_error& why) {
      throw inputError(source_ + ": " + why.what() + ", so it is not read");
    }
  }

 private:
  /// Reads all opcodes. Returns why they end early; empty when they do not.
  std::string readOpcodes() {
    try {
      while (readOpcode()) {
      }
    } catch (const EndsEarly&) {
      closeAll();
      return "it ends at byte " + std::to_string(bytes_.size()) + ", before its end mark";
    }
    if (stack_.size() != 1 || !marks_.empty())
      damaged("its end mark before its values are complete");
    return "";
  }

  /// Reads an opcode and its argument. Returns false at the end of the pickle.
  bool readOpcode() {
    at_ = next_;
    const auto opcode = static_cast<unsigned char>(take(1).front());
    if (opcode == '.') return false;
    if (!readValue(opcode) && !readStructure(opcode) && !readMemo(opcode)) reject(opcode);
    return true;
  }

  bool readValue(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        return push(values_.add(Kind::kNone));
      case 0x88:
        return push(values_.addBool(true));
      case 0x89:
        return push(values_.addBool(false));
      case 'J':
        return push(values_.addInteger(static_cast<std::int32_t>(number(4))));
      case 'K':
        return push(values_.addInteger(static_cast<std::int64_t>(number(1))));
      case 'M':
        return push(values_.addInteger(static_cast<std::int64_t>(number(2))));
      case 0x8a:
        return push(longInteger(take(number(1))));
      case 0x8b:
        return push(longInteger(take(number(4))));
      case 'G':
        return push(values_.addReal(real()));
      case 'X':
        return push(values_.addText(take(number(4))));
      case 0x8c:
        return push(values_.addText(take(number(1))));
      case 0x8d:
        return push(values_.addText(take(number(8))));
      case '}':
        return push(values_.add(Kind::kDict));
      case ']':
      case ')':
        return push(values_.add(Kind::kList));
      default:
        return false;
    }
  }

  bool readStructure(unsigned char opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        if (const auto version = number(1); version < 2 || version > 5)
          throw inputError(source_ + ": is a pickle of protocol " + std::to_string(version) +
                           "; this program reads protocols 2 to 5");
        return true;
      case 0x95:
        return number(8), true;  // FRAME: a hint of how much to read at once
      case '(':
        return marks_.push_back(stack_.size()), true;
      case 't':
        return tuple(takeMarked());
      case 0x85:
        return tuple(takeLast(1));
      case 0x86:
        return tuple(takeLast(2));
      case 0x87:
        return tuple(takeLast(3));
      case 'a':
        return extend(Kind::kList, takeLast(1));
      case 'e':
        return extend(Kind::kList, takeMarked());
      case 's':
        return extend(Kind::kDict, takeLast(2));
      case 'u':
        return extend(Kind::kDict, takeMarked());
      default:
        return false;
    }
  }

  bool readMemo(unsigned char opcode) {
    switch (opcode) {
      case 'q':
        return keep(number(1));
      case 'r':
        return keep(number(4));
      case 0x94:
        return keep(memo_.size());
      case 'h':
        return recall(number(1));
      case 'j':
        return recall(number(4));
      default:
        return false;
    }
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - next_) throw EndsEarly();
    const std::string_view taken = bytes_.substr(next_, size);
    next_ += size;
    return taken;
  }

  /// Reads a number without a sign, the lowest byte first.
  std::uint64_t number(std::size_t size) {
    std::uint64_t number = 0;
    const std::string_view taken = take(size);
    for (std::size_t i = 0; i < size; ++i)
      number |= std::uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    return number;
  }

  /// Reads a double, the highest byte first.
  double real() {
    std::uint64_t bits = 0;
    for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
    return std::bit_cast<double>(bits);
  }

  /// Returns an integer of any length in two's complement; None when it needs more than 64 bits.
  Id longInteger(std::string_view bytes) {
    if (bytes.size() > sizeof(std::int64_t)) return values_.add(Kind::kNone);
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
    std::uint64_t bits = negative ? std::numeric_limits<std::uint64_t>::max() : 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
      bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    return values_.addInteger(static_cast<std::int64_t>(bits));
  }

  bool push(Id id) {
    stack_.push_back(id);
    return true;
  }

  /// Removes and returns the values above the last mark, and the mark.
  std::vector<Id> takeMarked() {
    if (marks_.empty()) damaged("a list, tuple or dict without its beginning");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return takeLast(stack_.size() - mark);
  }

  std::vector<Id> takeLast(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + count) damaged("fewer values than its opcode takes");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Id> taken(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    return taken;
  }

  bool tuple(const std::vector<Id>& items) {
    const Id id = values_.add(Kind::kList);
    values_.extend(id, items);
    return push(id);
  }

  bool extend(Kind kind, const std::vector<Id>& items) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor || values_.kind(stack_.back()) != kind)
      damaged(kind == Kind::kList ? "items without a list" : "keys without a dict");
    if (kind == Kind::kDict && items.size() % 2 != 0) damaged("a key without a value");
    values_.extend(stack_.back(), items);
    return true;
  }

  bool keep(std::uint64_t place) {
    if (stack_.empty()) damaged("a memo without a value");
    // Writers count their memos, so a memo's number cannot exceed the number of bytes before it.
    if (place > at_) damaged("memo " + std::to_string(place) + ", which is out of range");
    if (place >= memo_.size()) memo_.resize(place + 1, kNoId);
    memo_[place] = stack_.back();
    return true;
  }

  bool recall(std::uint64_t place) {
    if (place >= memo_.size() || memo_[place] == kNoId)
      damaged("memo " + std::to_string(place) + ", which was not written");
    return push(memo_[place]);
  }

  /// Completes all open lists and dicts with the values that were read.
  void closeAll() {
    while (!stack_.empty() && (!marks_.empty() || stack_.size() > 1)) {
      const bool marked = !marks_.empty();
      const std::size_t mark = marked ? marks_.back() : 1;
      if (marked) marks_.pop_back();
      const auto items = takeLast(stack_.size() - mark);
      if (mark == 0) continue;
      const Kind kind = values_.kind(stack_.back());
      if (kind == Kind::kList || kind == Kind::kDict) values_.extend(stack_.back(), items);
    }
  }

  [[noreturn]] void damaged(const std::string& what) const {
    throw inputError(source_ + ": is damaged at byte " + std::to_string(at_) + ": it contains " +
                     what + ". Copy it again from where the job wrote it");
  }

  [[noreturn]] void reject(unsigned char opcode) const {
    std::array<char, 8> code{};
    std::snprintf(code.data(), code.size(), "0x%02x", opcode);
    const char* acting = nameOfActingOpcode(opcode);
    const std::string where = source_ + ": has at byte " + std::to_string(at_) +
                              " the pickle opcode " + (acting ? acting + std::string(" ") : "") +
                              "(" + code.data() + "), ";
    throw inputError(
        where + (acting ? "which can run code or fetch data, so the file is not opened. No dump of "
                          "the Flight Recorder contains it"
                        : "which no dump of the Flight Recorder contains: the file is damaged, or "
                          "is something else"));
  }

  static constexpr Id kNoId = std::numeric_limits<Id>::max();

  std::string_view bytes_;
  const std::string& source_;
  std::size_t at_ = 0, next_ = 0;  ///< the opcode that is read, and the next byte
  PickleValues values_;
  std::vector<Id> stack_, memo_;
  std::vector<std::size_t> marks_;  ///< sizes of the stack at each open mark
};

}  // namespace

bool isPickle(std::span<const std::uint8_t> head) {
  return head.size() > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

PickledValue parsePickle(std::string_view bytes, const std::string& source) {
  return PickleReader(bytes, source).read();
}

}  // namespace ringscope::traces
