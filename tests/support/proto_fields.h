// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringscope::test {

/// The fields of one protobuf message by their numbers, decoded without any definitions: varints,
/// fixed64 and length-delimited fields. Anything else fails the test.
struct ProtoFields {
  explicit ProtoFields(std::string_view bytes) : bytes_(bytes) {
    while (at_ < bytes_.size()) {
      const std::uint64_t key = varint();
      const auto field = static_cast<std::uint32_t>(key >> 3);
      switch (key & 7) {
        case 0:
          numbers.emplace_back(field, varint());
          break;
        case 1:
          numbers.emplace_back(field, fixed64());
          break;
        case 2:
          messages.emplace_back(field, text());
          break;
        default:
          ADD_FAILURE() << "wire type " << (key & 7);
          at_ = bytes_.size();
      }
    }
  }

  bool has(std::uint32_t field) const {
    for (const auto& [number, value] : numbers)
      if (number == field) return true;
    return false;
  }
  /// Returns a number; 0 when there is none.
  std::uint64_t number(std::uint32_t field) const {
    for (const auto& [number, value] : numbers)
      if (number == field) return value;
    return 0;
  }
  /// Returns a message; null when there is none.
  const std::string* message(std::uint32_t field) const {
    for (const auto& [number, value] : messages)
      if (number == field) return &value;
    return nullptr;
  }

  std::vector<std::pair<std::uint32_t, std::uint64_t>> numbers;
  std::vector<std::pair<std::uint32_t, std::string>> messages;

 private:
  std::uint64_t byte() {
    if (at_ >= bytes_.size()) {
      ADD_FAILURE() << "a message ends within a field";
      return 0;
    }
    return static_cast<unsigned char>(bytes_[at_++]);
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      value |= (next & 127) << shift;
      if (next < 128) return value;
    }
    ADD_FAILURE() << "a varint of more than ten bytes";
    return value;
  }
  std::uint64_t fixed64() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= byte() << (8 * i);
    return value;
  }
  std::string text() {
    const std::uint64_t size = varint();
    if (size > bytes_.size() - at_) {
      ADD_FAILURE() << "a length that leads out of its message";
      at_ = bytes_.size();
      return {};
    }
    at_ += size;
    return std::string(bytes_.substr(at_ - size, size));
  }

  std::string_view bytes_;  // only valid in the constructor
  std::size_t at_ = 0;
};

}  // namespace ringscope::test
