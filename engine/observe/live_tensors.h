// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "traces/format/core/mutex.h"
#include "traces/format/schema/place.h"

namespace ringscope::engine {

/// Where each rank's tensors lie while it works, so that a paused run can be looked into. Keeps no
/// tensor alive: one that its rank has let go is gone from here too. Thread-safe; values may only
/// be read while every rank stands at a gate.
class LiveTensors {
 public:
  struct Entry {
    traces::WorldRank rank;
    std::string name;
    traces::Place place;  ///< where the rank had it last
    at::Tensor tensor;
  };

  void put(traces::WorldRank rank, const std::string& name, const traces::Place& place,
           const at::Tensor& tensor);
  /// Those that still exist, by rank, name and layer.
  std::vector<Entry> list() const;
  /// `layer` none for those outside the decoder layers.
  std::optional<Entry> find(traces::WorldRank rank, const std::string& name,
                            traces::Layer layer) const;

 private:
  struct Handle {
    traces::Place place;
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    caffe2::TypeMeta dtype;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;
  };
  using Key = std::tuple<traces::WorldRank, std::string, traces::Layer>;
  static std::optional<Entry> lock(const Key& key, const Handle& handle);

  mutable traces::Mutex mutex_;
  std::map<Key, Handle> handles_ RINGSCOPE_GUARDED_BY(mutex_);
};

}  // namespace ringscope::engine
