// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/live_tensors.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

void LiveTensors::put(traces::WorldRank rank, const std::string& name, const traces::Place& place,
                      const at::Tensor& tensor) {
  Handle handle{place,
                c10::weak_intrusive_ptr<c10::StorageImpl>(tensor.storage().getWeakStorageImpl()),
                tensor.dtype(),
                tensor.sizes().vec(),
                tensor.strides().vec(),
                tensor.storage_offset()};
  const traces::MutexLock guard(mutex_);
  handles_.insert_or_assign(Key{rank, name, place.layer}, std::move(handle));
}

std::optional<LiveTensors::Entry> LiveTensors::lock(const Key& key, const Handle& handle) {
  auto storage = handle.storage.lock();
  if (!storage) return std::nullopt;
  at::Tensor tensor =
      at::empty({0}, at::TensorOptions().dtype(handle.dtype).device(storage->device()));
  tensor.set_(c10::Storage(std::move(storage)), handle.offset, handle.sizes, handle.strides);
  return Entry{std::get<0>(key), std::get<1>(key), handle.place, tensor};
}

std::vector<LiveTensors::Entry> LiveTensors::list() const {
  const traces::MutexLock guard(mutex_);
  std::vector<Entry> entries;
  for (const auto& [key, handle] : handles_)
    if (auto entry = lock(key, handle)) entries.push_back(std::move(*entry));
  return entries;
}

std::optional<LiveTensors::Entry> LiveTensors::find(traces::WorldRank rank, const std::string& name,
                                                    traces::Layer layer) const {
  const traces::MutexLock guard(mutex_);
  const auto found = handles_.find(Key{rank, name, layer});
  return found == handles_.end() ? std::nullopt : lock(found->first, found->second);
}

}  // namespace ringscope::engine
