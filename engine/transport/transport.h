// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "engine/transport/rank_environment.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// What carries messages between the ranks of one run.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The backend of one member of a group of ranks; called on that rank's thread, once for each
  /// member. `group`: a name that its members share and no other group has. Throws runFailed when
  /// the members do not find each other.
  virtual c10::intrusive_ptr<c10d::Backend> backendOf(const std::string& group, GroupRank rank,
                                                      int size) = 0;
  /// Ends what other ranks of this process wait for, as far as the transport can.
  virtual void abort(const std::string& reason) { (void)reason; }
};

/// A transport and what it can do.
struct TransportEntry {
  traces::TransportKind kind;
  bool between_threads, between_processes;
  bool moves_cpu, moves_gpu;  ///< which tensors
  bool gpu_each;              ///< each rank needs a GPU of its own
  /// Why this build cannot use it; empty: it can.
  std::string (*unavailable)();
};
const std::vector<TransportEntry>& transports();

/// Throws usageError unless the transport is there and moves tensors of this device between this
/// many ranks of this host; the sentence says which would.
void checkTransport(traces::TransportKind kind, traces::Device device, int ranks);

/// The GPU of a rank of this host: its own, or the one that virtual ranks share.
int gpuOfRank(traces::TransportKind transport, GroupRank local_rank);

/// For threads of this process. Throws usageError when this build or machine does not have it.
std::shared_ptr<Transport> threadTransport(traces::TransportKind kind,
                                           std::chrono::milliseconds timeout);
/// For one rank of several processes, which meet at the environment's master within `timeout`; a
/// message may take `message_timeout`.
std::shared_ptr<Transport> processTransport(traces::TransportKind kind, const RankEnvironment& here,
                                            std::chrono::milliseconds timeout,
                                            std::chrono::milliseconds message_timeout);

}  // namespace ringscope::engine
