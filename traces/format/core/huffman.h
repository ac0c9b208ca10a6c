// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ringscope::traces {

/// A canonical Huffman code of DEFLATE (RFC 1951, section 3.2.2).
class HuffmanCode {
 public:
  /// A symbol and the length of its code in bits; length 0: no code begins with these bits.
  struct Match {
    std::uint16_t symbol = 0;
    std::uint8_t length = 0;
  };
  static constexpr int kMostBits = 15;

  /// Builds the code from the length of each symbol's code; 0: the symbol has no code. Returns
  /// false when the lengths describe no code.
  bool build(std::span<const std::uint8_t> lengths);
  /// Returns the symbol whose code begins the bits, the first bit lowest.
  Match match(std::uint32_t bits) const;

 private:
  static constexpr int kQuickBits = 10;

  std::array<std::uint16_t, kMostBits + 1> count_{};  ///< number of codes of each length
  std::vector<std::uint16_t> symbols_;                ///< in the order of their codes
  std::array<Match, 1 << kQuickBits> quick_{};        ///< by the next bits; for short codes
};

}  // namespace ringscope::traces
