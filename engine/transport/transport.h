// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/transport/rank_environment.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// The carrier of messages between the ranks of one run.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Returns the backend of one member of a group of ranks. Each member calls it once, on its own
  /// thread. `group` is a name that only this group has. Throws runFailed if the members do not
  /// find each other.
  virtual c10::intrusive_ptr<c10d::Backend> makeBackend(const std::string& group, GroupRank rank,
                                                        int size) = 0;
  /// Ends the waits of other ranks of this process, as far as the transport can.
  virtual void abort(const std::string& reason) { (void)reason; }
};

/// A transport and its abilities.
struct TransportEntry {
  traces::TransportKind kind;
  bool between_threads, between_processes;
  bool moves_cpu, moves_gpu;  ///< supported tensors
  bool gpu_each;              ///< each rank needs its own GPU
  /// Returns why this build cannot use the transport; empty: it can.
  std::string (*unavailable)();
};
const std::vector<TransportEntry>& transports();

/// Throws usageError unless the transport is available and moves tensors of this device between
/// this number of ranks on this host. The message names a transport that does.
void checkTransport(traces::TransportKind kind, traces::Device device, int ranks);

/// Returns the GPU of a rank of this host: its own, or the one that virtual ranks share.
int gpuOfRank(traces::TransportKind transport, GroupRank local_rank);

/// Makes a transport for threads of this process. Throws usageError if it is not available.
std::shared_ptr<Transport> threadTransport(traces::TransportKind kind,
                                           std::chrono::milliseconds timeout);
/// Makes a transport for one rank of several processes. The ranks meet at the environment's master
/// within `timeout`; a message may take `message_timeout`.
std::shared_ptr<Transport> processTransport(traces::TransportKind kind, const RankEnvironment& here,
                                            std::chrono::milliseconds timeout,
                                            std::chrono::milliseconds message_timeout);

}  // namespace ringscope::engine
