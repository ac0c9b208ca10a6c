// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/plan.h"

namespace ringscope::engine {

/// The rank of this process and its environment, as torchrun sets it.
struct RankEnvironment {
  WorldRank rank = WorldRank::of(0);
  int world_size = 1;
  GroupRank local_rank = GroupRank::of(0);  ///< among the ranks of its host
  std::string master_addr = "127.0.0.1";
  int master_port = 29500;
  /// The address of this host's side of connections; empty: derived from master_addr.
  std::string interface_addr;
  /// The socket on which rank 0 serves the store, from a supervisor; -1: rank 0 opens one.
  int store_socket = -1;
  /// A prefix for the names of the store's entries that only the supervisor's ranks know.
  std::string store_token;

  static constexpr const char* kStoreSocketVariable = "RINGSCOPE_STORE_FD";
  static constexpr const char* kStoreTokenVariable = "RINGSCOPE_STORE_TOKEN";

  /// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and RINGSCOPE_INTERFACE. Throws
  /// usageError that names a missing or malformed variable. If the world size differs from the
  /// mesh's, the error shows the calculation.
  static RankEnvironment read(const Mesh& mesh);
};

}  // namespace ringscope::engine
