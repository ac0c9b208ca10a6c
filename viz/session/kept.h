// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace ringscope::viz {

/// The trace that something was computed from, and how much of it there was. Two equal stamps of
/// one session mean the same data.
struct DataStamp {
  int generation = -1;        ///< changes whenever another trace is on show
  std::uint64_t version = 0;  ///< changes whenever that trace grows, too

  friend bool operator==(const DataStamp&, const DataStamp&) = default;
};

/// A value that is kept with the data and the key that it was computed from. It can only be read by
/// naming both, so a value of another trace is never returned.
template <typename Key, typename Value>
class Kept {
 public:
  /// Returns the value for this key and this data; calls `make()` when there is none. `is_final`
  /// tells whether more of the same trace cannot change a value. Without it, more data always can.
  template <typename Make>
  const std::shared_ptr<const Value>& get(const DataStamp& data, const Key& key, const Make& make,
                                          bool (*is_final)(const Value&) = nullptr) {
    if (!isFrom(data, key, is_final)) {
      value_ = std::make_shared<const Value>(make());
      data_ = data;
      key_ = key;
    }
    return value_;
  }

 private:
  bool isFrom(const DataStamp& data, const Key& key, bool (*is_final)(const Value&)) const {
    if (!value_ || key_ != key || data_.generation != data.generation) return false;
    return data_.version == data.version || (is_final && is_final(*value_));
  }

  DataStamp data_;
  Key key_{};
  std::shared_ptr<const Value> value_;
};

}  // namespace ringscope::viz
