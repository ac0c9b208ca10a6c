// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "traces/format/core/error.h"

namespace ringscope::traces {

using Bytes = std::vector<std::uint8_t>;

static_assert(std::endian::native == std::endian::little, "the trace format is little-endian");

/// A writer of little-endian values, LEB128 varints and length-prefixed strings. It appends them to
/// a byte vector.
class ByteWriter {
 public:
  template <typename T>
  void fixed(T value) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof(T));
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(value) | 0x80);
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void zigzag(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    varint(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  void raw(const void* data, std::size_t size) {
    const auto* p = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), p, p + size);
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// A reader of the values that ByteWriter wrote. Every read is checked: a read past the end throws
/// inputError.
class ByteReader {
 public:
  ByteReader(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  explicit ByteReader(const Bytes& bytes) : ByteReader(bytes.data(), bytes.size()) {}

  template <typename T>
  T fixed() {
    need(sizeof(T));
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      need(1);
      const std::uint8_t byte = *at_++;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (!(byte & 0x80)) return value;
    }
    throw inputError("the trace holds a number of more than 64 bits");
  }
  /// Skips the next eight bytes if all of them are 0. Returns false, and skips nothing, if they are
  /// not.
  bool skipEightZeros() {
    std::uint64_t eight = 1;
    if (left() >= sizeof(eight)) std::memcpy(&eight, at_, sizeof(eight));
    if (eight != 0) return false;
    at_ += sizeof(eight);
    return true;
  }
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  std::string text() {
    const std::uint64_t size = varint();
    need(size);
    std::string value(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return value;
  }
  const std::uint8_t* raw(std::size_t size) {
    need(size);
    const std::uint8_t* data = at_;
    at_ += size;
    return data;
  }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  void need(std::uint64_t size) const {
    if (size > left()) throw inputError("a chunk of the trace ends early");
  }
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace ringscope::traces
