// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/transport/rank_environment.h"

namespace ringscope::engine {

/// What carries messages between the ranks of one run.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The backend of one member of a group of ranks; called on that rank's thread, once for each
  /// member. `group`: a name that its members share and no other group has. Throws runFailed when
  /// the members do not find each other.
  virtual c10::intrusive_ptr<c10d::Backend> backendOf(const std::string& group, int rank,
                                                      int size) = 0;
  /// Ends what other ranks of this process wait for, as far as the transport can.
  virtual void abort(const std::string& reason) { (void)reason; }
};

/// A transport as the command line names it, and what it can do.
struct TransportEntry {
  std::string name;
  bool between_threads, between_processes;
  bool moves_cpu, moves_gpu;  ///< which tensors
  bool gpu_each;              ///< each rank needs a GPU of its own
  /// Why this build cannot use it; empty: it can.
  std::string (*unavailable)();
};
const std::vector<TransportEntry>& transports();

/// Throws usageError unless the transport is there and moves tensors of this device ("cpu" or
/// "cuda") between this many ranks of this host; the sentence says which would.
void checkTransport(const std::string& name, const std::string& device, int ranks);

/// The GPU of a rank of this host: its own, or the one that virtual ranks share.
int gpuOfRank(const std::string& transport, int local_rank);

/// For threads of this process. Throws usageError when there is no such transport, when it
/// does not join threads, or when this build or machine does not have it.
std::shared_ptr<Transport> threadTransport(const std::string& name,
                                           std::chrono::milliseconds timeout);
/// For one rank of several processes, which meet at the environment's master within `timeout`; a
/// message may take `message_timeout`.
std::shared_ptr<Transport> processTransport(const std::string& name, const RankEnvironment& here,
                                            std::chrono::milliseconds timeout,
                                            std::chrono::milliseconds message_timeout);

}  // namespace ringscope::engine
