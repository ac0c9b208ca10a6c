// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/transport.h"

#include <algorithm>
#include <map>
#include <optional>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "engine/gpu/gpu.h"
#include "engine/transport/gloo_backend.h"
#include "engine/transport/local_backend.h"
#include "engine/transport/loopback_socket.h"
#include "engine/transport/nccl_backend.h"
#include "traces/format/core/error.h"
#include "traces/format/core/mutex.h"
#include "traces/format/schema/names.h"

namespace ringscope::engine {

using traces::TransportKind;

namespace {

class LocalTransport : public Transport {
 public:
  explicit LocalTransport(std::chrono::milliseconds timeout) : timeout_(timeout) {}
  c10::intrusive_ptr<c10d::Backend> makeBackend(const std::string& group, GroupRank rank,
                                                int size) override {
    return c10::make_intrusive<LocalBackend>(rank, size, findWorld(group, size), timeout_);
  }
  void abort(const std::string& reason) override {
    const traces::MutexLock lock(mutex_);
    aborted_ = reason;
    for (auto& [name, world] : worlds_) world->mailbox.abort(reason);
  }

 private:
  std::shared_ptr<LocalWorld> findWorld(const std::string& group, int size) {
    const traces::MutexLock lock(mutex_);
    auto& world = worlds_[group];
    if (!world) world = std::make_shared<LocalWorld>(size);
    if (!aborted_.empty()) world->mailbox.abort(aborted_);
    return world;
  }

  std::chrono::milliseconds timeout_;
  traces::Mutex mutex_;
  std::map<std::string, std::shared_ptr<LocalWorld>> worlds_ RINGSCOPE_GUARDED_BY(mutex_);
  std::string aborted_ RINGSCOPE_GUARDED_BY(mutex_);
};

/// NCCL. Ranks meet in a store; operations of a rank that is gone fail at their deadline.
class NcclTransport : public Transport {
 public:
  NcclTransport(c10::intrusive_ptr<c10d::Store> store, std::chrono::milliseconds timeout)
      : store_(std::move(store)), timeout_(timeout) {}
  c10::intrusive_ptr<c10d::Backend> makeBackend(const std::string& group, GroupRank rank,
                                                int size) override {
    return makeNcclBackend(c10::make_intrusive<c10d::PrefixStore>(group, store_), rank, size,
                           timeout_);
  }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  std::chrono::milliseconds timeout_;
};

/// Gloo. Ranks meet in a store; a rank that ends closes its connections, and its peers' waits then
/// fail.
class GlooTransport : public Transport {
 public:
  GlooTransport(c10::intrusive_ptr<c10d::Store> store, std::string interface_addr,
                std::chrono::milliseconds timeout)
      : store_(std::move(store)), interface_(std::move(interface_addr)), timeout_(timeout) {}
  c10::intrusive_ptr<c10d::Backend> makeBackend(const std::string& group, GroupRank rank,
                                                int size) override {
    try {
      return makeGlooBackend(c10::make_intrusive<c10d::PrefixStore>(group, store_), rank, size,
                             interface_, timeout_);
    } catch (const c10::Error& error) {
      throw runFailed(std::string("the ranks did not find each other: ") +
                      error.what_without_backtrace());
    }
  }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  std::string interface_;
  std::chrono::milliseconds timeout_;
};

/// Returns the socket for the store that rank 0 serves. Returns nullopt if ranks of other machines
/// must reach the store too.
std::optional<int> storeSocket(const RankEnvironment& here) {
  if (here.store_socket >= 0) return here.store_socket;
  const bool alone = here.master_addr == "127.0.0.1" || here.master_addr == "localhost";
  return alone ? std::optional(listenOnLoopback(here.master_port).descriptor) : std::nullopt;
}

c10::intrusive_ptr<c10d::Store> meetAtMaster(const RankEnvironment& here,
                                             std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(here.master_port);
  // torchrun's agent serves the store itself.
  const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  options.isServer = here.rank == WorldRank::of(0) && !(agent && std::string(agent) == "True");
  options.numWorkers = static_cast<std::size_t>(here.world_size);
  options.timeout = timeout;
  if (options.isServer) options.masterListenFd = storeSocket(here);
  try {
    return c10::make_intrusive<c10d::TCPStore>(here.master_addr, options);
  } catch (const std::exception& error) {
    throw runFailed("rank " + toString(here.rank) + " did not reach " + here.master_addr + ":" +
                    std::to_string(here.master_port) + " (" +
                    std::string(error.what()).substr(0, 200) + ")");
  }
}

/// Returns the store of the next run. A process connects to its master once, and every run in the
/// process gets its own prefix.
c10::intrusive_ptr<c10d::Store> storeOfRun(const RankEnvironment& here,
                                           std::chrono::milliseconds timeout) {
  static const auto kStore = meetAtMaster(here, timeout);
  static int runs = 0;
  return c10::make_intrusive<c10d::PrefixStore>(here.store_token + "run" + std::to_string(runs++),
                                                kStore);
}

std::string nothing() {
  return {};
}
std::string glooUnavailable() {
  return hasGloo() ? "" : "this build has no gloo; install libgloo-dev and build again";
}

const TransportEntry& entryOf(TransportKind kind) {
  const auto entry = std::ranges::find(transports(), kind, &TransportEntry::kind);
  if (entry == transports().end())
    throw usageError(std::string("this build has no transport ") + traces::name(kind));
  if (const std::string reason = entry->unavailable(); !reason.empty()) throw usageError(reason);
  return *entry;
}

}  // namespace

const std::vector<TransportEntry>& transports() {
  static const std::vector<TransportEntry> kTransports = {
      {TransportKind::kLocal, true, false, true, true, false, nothing},
      {TransportKind::kGloo, true, true, true, false, false, glooUnavailable},
      {TransportKind::kNccl, true, true, false, true, true, ncclUnavailable}};
  return kTransports;
}

void checkTransport(TransportKind kind, traces::Device device, int ranks) {
  const TransportEntry& entry = entryOf(kind);
  const bool cuda = device == traces::Device::kCuda;
  if (cuda && !gpu::unavailable().empty()) throw usageError(gpu::unavailable());
  if (cuda ? !entry.moves_gpu : !entry.moves_cpu)
    throw usageError(std::string("--transport ") + traces::name(kind) +
                     " does not move tensors of --device " + traces::name(device) +
                     (cuda ? "; use local (virtual ranks on one GPU) or nccl (a GPU a rank)"
                           : "; use local or gloo"));
  if (entry.gpu_each && gpu::count() < ranks)
    throw usageError("nccl needs a GPU for each of " + std::to_string(ranks) +
                     " ranks, and this machine has " + std::to_string(gpu::count()) +
                     "; use --transport local for virtual ranks on one");
}

int gpuOfRank(TransportKind transport, GroupRank local_rank) {
  return entryOf(transport).gpu_each ? local_rank.value() : 0;
}

std::shared_ptr<Transport> threadTransport(TransportKind kind, std::chrono::milliseconds timeout) {
  if (entryOf(kind).kind == TransportKind::kLocal) return std::make_shared<LocalTransport>(timeout);
  if (kind == TransportKind::kNccl)
    return std::make_shared<NcclTransport>(c10::make_intrusive<c10d::HashStore>(), timeout);
  return std::make_shared<GlooTransport>(c10::make_intrusive<c10d::HashStore>(), "127.0.0.1",
                                         timeout);
}

std::shared_ptr<Transport> processTransport(TransportKind kind, const RankEnvironment& here,
                                            std::chrono::milliseconds timeout,
                                            std::chrono::milliseconds message_timeout) {
  if (!entryOf(kind).between_processes)
    throw usageError(std::string("--transport ") + traces::name(kind) +
                     " joins threads of one process; processes need --transport gloo or nccl");
  if (kind == TransportKind::kNccl)
    return std::make_shared<NcclTransport>(storeOfRun(here, timeout), message_timeout);
  return std::make_shared<GlooTransport>(
      storeOfRun(here, timeout),
      here.interface_addr.empty() ? here.master_addr : here.interface_addr, message_timeout);
}

}  // namespace ringscope::engine
