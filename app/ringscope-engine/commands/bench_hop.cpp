// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <cstring>
#include <iomanip>
#include <iostream>
#include <thread>

#include "app/command_line/columns.h"
#include "app/ringscope-engine/commands/bench.h"
#include "engine/transport/communicator.h"
#include "engine/transport/gloo_backend.h"
#include "engine/transport/transport.h"
#include "traces/format/core/prose.h"

namespace ringscope::app {
namespace {

using Backend = c10::intrusive_ptr<c10d::Backend>;

constexpr engine::GroupRank kFirst = engine::GroupRank::of(0), kSecond = engine::GroupRank::of(1);
constexpr int kWarmUp = 5, kHops = 20, kRounds = 15;

/// Returns the seconds of one hop between two rank threads that swap packets, one value per entry
/// of `hops`. Each value is the median over rounds in which the entries take turns.
std::vector<double> secondsOfHops(
    traces::TransportKind transport, std::int64_t bytes,
    const std::vector<std::function<void(const Backend&, at::Tensor&, at::Tensor&)>>& hops) {
  const auto meeting = engine::threadTransport(transport, std::chrono::seconds(60));
  std::vector<std::vector<double>> times(hops.size());
  auto rank = [&](engine::GroupRank r) {
    const Backend backend = meeting->makeBackend("both", r, 2);
    at::Tensor mine = at::full({bytes}, r.value(), at::kByte), theirs = at::zeros_like(mine);
    for (int round = 0; round < kWarmUp + kRounds; ++round)
      for (std::size_t way = 0; way < hops.size(); ++way) {
        backend->barrier()->wait();
        const double s = seconds([&] {
          for (int i = 0; i < kHops; ++i) hops[way](backend, mine, theirs);
        });
        if (r == kFirst && round >= kWarmUp) times[way].push_back(s / kHops);
      }
  };
  std::thread other(rank, kSecond);
  rank(kFirst);
  other.join();
  std::vector<double> medians;
  medians.reserve(times.size());
  for (auto& of_way : times) medians.push_back(median(of_way));
  return medians;
}

void raw(const Backend& backend, at::Tensor& mine, at::Tensor& theirs) {
  const int peer = 1 - backend->getRank();
  std::vector<at::Tensor> out{mine}, in{theirs};
  const auto receive = backend->recv(in, peer, 0), send = backend->send(out, peer, 0);
  receive->wait();
  send->wait();
}

/// Swaps packets as a strategy does. Making a communicator costs nothing compared with a packet.
void ours(const Backend& backend, at::Tensor& mine, at::Tensor& theirs) {
  engine::Communicator communicator(backend);
  const engine::GroupRank peer = communicator.rank() == kFirst ? kSecond : kFirst;
  communicator.exchange({{mine, peer}}, {{theirs, peer}}).wait();
}

/// Returns the seconds of a memcpy while both cores copy at once, each between buffers of its own.
double secondsOfMemcpy(std::int64_t bytes) {
  std::vector<double> times;
  std::atomic<int> waiting{0};
  auto core = [&](bool timed) {
    const at::Tensor from = at::full({bytes}, 1, at::kByte), to = at::zeros_like(from);
    ++waiting;
    while (waiting < 2) std::this_thread::yield();
    for (int round = 0; round < kWarmUp + kRounds; ++round) {
      const double s = seconds([&] {
        for (int i = 0; i < kHops; ++i)
          std::memcpy(to.data_ptr(), from.data_ptr(), static_cast<std::size_t>(bytes));
      });
      if (timed && round >= kWarmUp) times.push_back(s / kHops);
    }
  };
  std::thread other(core, false);
  core(true);
  other.join();
  return median(times);
}

}  // namespace

nlohmann::json benchHop(const BenchOptions& o) {
  nlohmann::json report = {{"bench", "hop"}, {"rows", nlohmann::json::array()}};
  // The KV block of one rank, and smaller messages.
  const std::int64_t block = 2 * o.batch * o.heads * (o.length / o.cp) * o.width * 4;
  for (std::int64_t bytes = block / 16; bytes <= block; bytes *= 4) {
    const auto size = static_cast<double>(bytes);
    const double local = secondsOfHops(traces::TransportKind::kLocal, bytes, {ours})[0],
                 copy = secondsOfMemcpy(bytes);
    nlohmann::json row = {{"bytes", bytes},
                          {"local_bytes_per_second", size / local},
                          {"memcpy_bytes_per_second", size / copy}};
    if (engine::hasGloo()) {
      const auto gloo = secondsOfHops(traces::TransportKind::kGloo, bytes, {raw, ours});
      row["gloo_bytes_per_second"] = size / gloo[1];
      row["raw_gloo_bytes_per_second"] = size / gloo[0];
      row["gloo_of_raw"] = gloo[0] / gloo[1];
    }
    report["rows"].push_back(row);
  }
  return report;
}

void printHop(const nlohmann::json& r) {
  std::cout << std::fixed << std::setprecision(2)
            << "two ranks swap packets; GB/s of what each receives\n"
               "packet        local   memcpy     gloo   gloo raw   of raw\n";
  auto gigabytes = [](const nlohmann::json& row, const char* key) {
    return row.value(key, 0.0) * 1e-9;
  };
  for (const auto& row : r["rows"])
    std::cout << alignLeft(traces::describeBytes(row["bytes"]), 11) << std::setw(8)
              << gigabytes(row, "local_bytes_per_second") << std::setw(9)
              << gigabytes(row, "memcpy_bytes_per_second") << std::setw(9)
              << gigabytes(row, "gloo_bytes_per_second") << std::setw(11)
              << gigabytes(row, "raw_gloo_bytes_per_second") << std::setw(9)
              << row.value("gloo_of_raw", 0.0) << "\n";
}

}  // namespace ringscope::app
