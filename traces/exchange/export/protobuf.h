// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "traces/format/core/bytes.h"

namespace ringscope::traces {

/// A writer of the fields of one protobuf message by their numbers. The encoding is that of
/// https://protobuf.dev/programming-guides/encoding: varints, fixed64 and length-delimited fields.
class ProtoMessage {
 public:
  ProtoMessage& number(std::uint32_t field, std::uint64_t value) {
    key(field, 0);
    bytes_.varint(value);
    return *this;
  }
  /// Writes an int64. A negative number takes ten bytes.
  ProtoMessage& integer(std::uint32_t field, std::int64_t value) {
    return number(field, static_cast<std::uint64_t>(value));
  }
  ProtoMessage& fixed64(std::uint32_t field, std::uint64_t value) {
    key(field, 1);
    bytes_.fixed(value);
    return *this;
  }
  ProtoMessage& text(std::uint32_t field, std::string_view value) {
    key(field, 2);
    bytes_.text(value);
    return *this;
  }
  ProtoMessage& message(std::uint32_t field, ProtoMessage part) {
    const Bytes body = part.take();
    return text(field, {reinterpret_cast<const char*>(body.data()), body.size()});
  }
  Bytes take() { return bytes_.take(); }

 private:
  void key(std::uint32_t field, std::uint32_t wire_type) { bytes_.varint(field << 3 | wire_type); }
  ByteWriter bytes_;
};

}  // namespace ringscope::traces
