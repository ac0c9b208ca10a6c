// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/inflate.h"

#include <algorithm>
#include <array>
#include <span>

#include "traces/format/core/huffman.h"

namespace ringscope::traces {
namespace {

/// The reason why bytes cannot be read further.
struct Stop {
  const char* why;
};
constexpr Stop kCut{"it is cut"}, kWrong{"it is damaged"}, kFull{""};

std::uint32_t crc32(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < made.size(); ++byte) {
      std::uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit)
        value = (value & 1) != 0 ? value >> 1 ^ 0xedb88320U : value >> 1;
      made[byte] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes)
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

class Inflater {
 public:
  Inflater(std::string_view in, std::uint64_t most_bytes) : in_(in), most_bytes_(most_bytes) {}

  Inflated run() {
    try {
      // A gzip file can consist of several members, one after the other.
      do member();
      while (beginsAsGzip(in_.substr(next_)));
    } catch (const Stop& stop) {
      inflated_.full = stop.why == kFull.why;
      if (!inflated_.full)
        inflated_.damage = std::string(stop.why) + " at byte " + std::to_string(next_);
    }
    return std::move(inflated_);
  }

 private:
  void member() {
    const std::size_t begin = inflated_.bytes.size();
    header();
    bool last = false;
    while (!last) {
      last = bits(1) == 1;
      switch (bits(2)) {
        case 0:
          stored();
          break;
        case 1:
          fixed();
          break;
        case 2:
          dynamic();
          break;
        default:
          throw kWrong;
      }
    }
    next_ -= bit_count_ / 8;  // whole bytes that were read ahead
    bit_count_ = 0;
    bits_ = 0;
    const std::string_view made = std::string_view(inflated_.bytes).substr(begin);
    const std::uint32_t crc = word(), size = word();
    if (crc != crc32(made) || size != static_cast<std::uint32_t>(made.size())) throw kWrong;
  }

  void header() {
    constexpr std::size_t kFixed = 10;
    if (!beginsAsGzip(in_.substr(next_))) throw kWrong;
    if (in_.size() - next_ < kFixed) throw kCut;
    const auto flags = static_cast<unsigned char>(in_[next_ + 3]);
    next_ += kFixed;
    if ((flags & 4) != 0) skip(byte() | std::size_t{byte()} << 8);
    for (const unsigned text : {8U, 16U})  // the name of the file, and a comment
      if ((flags & text) != 0)
        while (byte() != 0) {
        }
    if ((flags & 2) != 0) skip(2);
  }

  void skip(std::size_t count) {
    if (count > in_.size() - next_) throw kCut;
    next_ += count;
  }
  unsigned char byte() {
    if (next_ >= in_.size()) throw kCut;
    return static_cast<unsigned char>(in_[next_++]);
  }
  std::uint32_t word() {
    std::uint32_t value = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) value |= std::uint32_t{byte()} << shift;
    return value;
  }

  /// Reads ahead as many whole bytes as there are and fit.
  void fill() {
    while (bit_count_ <= 48 && next_ < in_.size()) {
      bits_ |= std::uint64_t{static_cast<unsigned char>(in_[next_++])} << bit_count_;
      bit_count_ += 8;
    }
  }
  void drop(unsigned count) {
    if (count > bit_count_) throw kCut;
    bits_ >>= count;
    bit_count_ -= count;
  }
  std::uint32_t bits(unsigned count) {
    fill();
    const auto value = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << count) - 1));
    drop(count);
    return value;
  }
  std::uint16_t symbol(const HuffmanCode& code) {
    fill();
    const auto match = code.match(static_cast<std::uint32_t>(bits_));
    if (match.length == 0) throw bit_count_ < HuffmanCode::kMostBits ? kCut : kWrong;
    drop(match.length);
    return match.symbol;
  }

  void put(char c) {
    if (inflated_.bytes.size() >= most_bytes_) throw kFull;
    inflated_.bytes += c;
  }

  void stored() {
    drop(bit_count_ % 8);
    const std::uint32_t size = bits(16), check = bits(16);
    if ((size ^ check) != 0xffff) throw kWrong;
    next_ -= bit_count_ / 8;
    bit_count_ = 0;
    bits_ = 0;
    for (std::uint32_t i = 0; i < size; ++i) put(static_cast<char>(byte()));
  }

  void fixed() {
    std::array<std::uint8_t, 288> lengths{};
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    literals_.build(lengths);
    lengths.fill(5);
    distances_.build(std::span(lengths).first(30));
    codes();
  }

  void dynamic() {
    const std::size_t literals = bits(5) + 257, distances = bits(5) + 1, count = bits(4) + 4;
    static constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                            11, 4,  12, 3, 13, 2, 14, 1, 15};
    std::array<std::uint8_t, 320> lengths{};
    for (std::size_t i = 0; i < count; ++i) lengths[kOrder[i]] = static_cast<std::uint8_t>(bits(3));
    if (!literals_.build(std::span(lengths).first(kOrder.size()))) throw kWrong;
    lengths.fill(0);
    for (std::size_t at = 0; at < literals + distances;) {
      const std::uint16_t length = symbol(literals_);
      if (length < 16) {
        lengths[at++] = static_cast<std::uint8_t>(length);
        continue;
      }
      if (length == 16 && at == 0) throw kWrong;
      const std::uint8_t repeated = length == 16 ? lengths[at - 1] : 0;
      std::size_t times = length == 16 ? 3 + bits(2) : length == 17 ? 3 + bits(3) : 11 + bits(7);
      if (times > literals + distances - at) throw kWrong;
      while (times-- > 0) lengths[at++] = repeated;
    }
    if (!literals_.build(std::span(lengths).first(literals)) ||
        !distances_.build(std::span(lengths).subspan(literals, distances)))
      throw kWrong;
    codes();
  }

  /// Reads literals and repetitions until the end of a block.
  void codes() {
    static constexpr std::array<std::uint16_t, 29> kLengths = {
        3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
        31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr std::array<std::uint16_t, 30> kDistances = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    for (;;) {
      const std::uint16_t literal = symbol(literals_);
      if (literal == 256) return;
      if (literal < 256) {
        put(static_cast<char>(literal));
        continue;
      }
      const std::size_t at = literal - 257U;
      if (at >= kLengths.size()) throw kWrong;
      const std::size_t extra = at < 8 || at == 28 ? 0 : at / 4 - 1;
      const std::size_t length = kLengths[at] + bits(static_cast<unsigned>(extra));
      const std::size_t far = symbol(distances_);
      if (far >= kDistances.size()) throw kWrong;
      const std::size_t distance =
          kDistances[far] + bits(static_cast<unsigned>(far < 2 ? 0 : far / 2 - 1));
      if (distance > inflated_.bytes.size()) throw kWrong;
      for (std::size_t i = 0; i < length; ++i)
        put(inflated_.bytes[inflated_.bytes.size() - distance]);
    }
  }

  std::string_view in_;
  std::uint64_t most_bytes_;
  std::size_t next_ = 0;
  std::uint64_t bits_ = 0;  ///< bits that were read ahead, the next one lowest
  unsigned bit_count_ = 0;
  HuffmanCode literals_, distances_;
  Inflated inflated_;
};

}  // namespace

bool beginsAsGzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b\x08");
}

Inflated inflate(std::string_view gzip, std::uint64_t most_bytes) {
  return Inflater(gzip, most_bytes).run();
}

}  // namespace ringscope::traces
