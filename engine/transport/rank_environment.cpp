// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/rank_environment.h"

#include <charconv>
#include <cstdlib>

#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

std::string asText(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

int numberOf(const char* name, int otherwise) {
  const std::string text = asText(name, "");
  if (text.empty()) {
    if (otherwise >= 0) return otherwise;
    throw usageError(std::string(name) +
                     " is not set; --launch env takes it from the environment, "
                     "as torchrun sets it");
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw usageError(std::string(name) + "='" + text + "' is not a number");
  return value;
}

}  // namespace

RankEnvironment RankEnvironment::read(const Mesh& mesh) {
  constexpr int kRequired = -1;
  RankEnvironment here;
  here.rank = WorldRank::of(numberOf("RANK", kRequired));
  here.world_size = numberOf("WORLD_SIZE", kRequired);
  here.local_rank = GroupRank::of(numberOf("LOCAL_RANK", 0));
  here.master_addr = asText("MASTER_ADDR", here.master_addr);
  here.master_port = numberOf("MASTER_PORT", here.master_port);
  if (here.master_port < 1 || here.master_port > 65'535)
    throw usageError("MASTER_PORT=" + std::to_string(here.master_port) +
                     " is not a port; ports go from 1 to 65535");
  here.interface_addr = asText("RINGSCOPE_INTERFACE", "");
  if (!asText(kStoreSocketVariable, "").empty())
    here.store_socket = numberOf(kStoreSocketVariable, kRequired);
  here.store_token = asText(kStoreTokenVariable, "");
  if (here.world_size != mesh.worldSize())
    throw usageError("WORLD_SIZE=" + std::to_string(here.world_size) + " but " + mesh.arithmetic() +
                     "; they must be equal");
  if (here.rank.value() >= here.world_size)
    throw usageError("RANK=" + toString(here.rank) +
                     " is outside WORLD_SIZE=" + std::to_string(here.world_size));
  return here;
}

}  // namespace ringscope::engine
