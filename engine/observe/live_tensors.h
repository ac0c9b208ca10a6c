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

/// The current tensors of each rank, for inspecting a paused run. It keeps no tensor alive; a
/// tensor that its rank has freed is no longer listed. Thread-safe. Values may only be read while
/// every rank stands at a gate.
class LiveTensors {
 public:
  struct Entry {
    traces::WorldRank rank;
    std::string name;
    traces::Place place;  ///< where the rank last used it
    at::Tensor tensor;
  };

  void put(traces::WorldRank rank, const std::string& name, const traces::Place& place,
           const at::Tensor& tensor);
  /// Returns the tensors that still exist, by rank, name and layer.
  std::vector<Entry> list() const;
  /// Returns a tensor. `layer` is none for tensors outside the decoder layers.
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
