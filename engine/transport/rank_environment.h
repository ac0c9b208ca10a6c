// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/plan.h"

namespace ringscope::engine {

/// Which rank this process is, as torchrun says it.
struct RankEnvironment {
  WorldRank rank = WorldRank::of(0);
  int world_size = 1;
  GroupRank local_rank = GroupRank::of(0);  ///< among the ranks of its host
  std::string master_addr = "127.0.0.1";
  int master_port = 29500;
  /// The address that this host's side of connections has; empty: found from master_addr.
  std::string interface_addr;
  /// The socket on which rank 0 serves the store; -1: it makes one. A supervisor hands it over.
  int store_socket = -1;
  /// What the supervisor's ranks begin the names of the store's entries with; no other program of
  /// this machine knows it.
  std::string store_token;

  static constexpr const char* kStoreSocketVariable = "RINGSCOPE_STORE_FD";
  static constexpr const char* kStoreTokenVariable = "RINGSCOPE_STORE_TOKEN";

  /// From RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and RINGSCOPE_INTERFACE. Throws
  /// usageError that names what is missing or not a number, or shows the arithmetic when the world
  /// is not that of the mesh.
  static RankEnvironment read(const Mesh& mesh);
};

}  // namespace ringscope::engine
