// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/format/core/bytes.h"
#include "traces/format/schema/fields.h"

namespace ringscope::traces {

/// The reader of one field of consecutive records. Each value is stored as the zigzag of its
/// difference from the value before.
class ColumnReader {
 public:
  ColumnReader(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  /// Reads one field of `count` records, the first of which is `first`. `stride` is the number of
  /// bytes between consecutive records. Throws inputError when there are too few values, or a value
  /// that the field cannot have.
  template <typename V>
  void read(const char* field, V& first, std::size_t stride, std::size_t count) {
    auto* at = reinterpret_cast<std::byte*>(&first);
    const auto put = [&](const V& value) {
      *reinterpret_cast<V*>(at) = value;
      at += stride;
    };
    V value = fromInteger<V>(static_cast<std::int64_t>(previous_), field);
    for (std::size_t i = 0; i < count;) {
      // Most fields keep the same value over many records.
      if (i + 8 <= count && bytes_.skipEightZeros()) {
        for (const std::size_t end = i + 8; i < end; ++i) put(value);
        continue;
      }
      const auto difference = static_cast<std::uint64_t>(bytes_.zigzag());
      if (difference != 0) {
        previous_ += difference;
        value = fromInteger<V>(static_cast<std::int64_t>(previous_), field);
      }
      put(value);
      ++i;
    }
  }
  std::size_t left() const { return bytes_.left(); }

 private:
  ByteReader bytes_;
  std::uint64_t previous_ = 0;
};

/// Reads the columns of a body, a few records at a time so that the records stay in the processor's
/// cache. `fields` is the number of fields per record. Returns the number of bytes that were not
/// read.
template <typename Record>
std::size_t readColumns(const Bytes& body, std::size_t fields, std::vector<Record>& records) {
  constexpr std::size_t kAtOnce = 128;
  ByteReader in(body);
  std::vector<ColumnReader> columns;
  for (std::size_t c = 0; c < fields; ++c) {
    const std::uint64_t size = in.varint();
    columns.push_back({in.raw(size), size});
  }
  for (std::size_t first = 0; first < records.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, records.size() - first);
    auto column = columns.begin();
    Fields<Record>::visit(
        [&](const char* field, auto& value) {
          (column++)->read(field, value, sizeof(Record), count);
        },
        records[first]);
  }
  std::size_t left = in.left();
  for (const ColumnReader& column : columns) left += column.left();
  return left;
}

}  // namespace ringscope::traces
