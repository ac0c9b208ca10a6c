// SPDX-License-Identifier: Apache-2.0
// The speed of importing files of PyTorch's profiler, in MB per second. See README.md.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace {

using namespace ringscope::traces;
namespace fs = std::filesystem;

constexpr int kLayers = 32;

std::string number(std::int64_t value) {
  return std::to_string(value);
}

/// The file of one rank, in the form in which Kineto writes it.
class RankWriter {
 public:
  RankWriter(const std::string& path, int rank, int ranks) : out_(path), rank_(rank) {
    for (int member = 0; member < ranks; ++member)
      members_ += (member ? ", " : "") + number(member);
    out_ << R"({
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "device", "totalGlobalMem": 150110011392, "numSms": 132
    }
  ],
  "record_shapes": 1,
  "distributedInfo": {"backend": "nccl", "rank": )"
         << rank << R"(, "world_size": )" << ranks
         << R"(, "pg_count": 1, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [)"
         << members_ << R"(]}]},
  "traceEvents": [)";
  }

  /// Writes a training step with `others` operators that no importer reads per operator that it
  /// reads.
  void step(int others) {
    others_ = others;
    const std::int64_t begin = now_;
    ++step_;
    for (int layer = 0; layer < kLayers; ++layer) collective("all_gather");
    for (int layer = 0; layer < kLayers; ++layer) {
      operation("aten::scaled_dot_product_attention", true);
      for (const char* name :
           {"MmBackward0", "ViewBackward0", "TransposeBackward0", "SiluBackward0", "MulBackward0",
            "AddBackward0", "ExpandBackward0", "MeanBackward0",
            "ScaledDotProductFlashAttentionForCpuBackward0", "PowBackward0"})
        operation(std::string("autograd::engine::evaluate_function: ") + name, false);
      collective("reduce_scatter");
    }
    event("user_annotation", "ProfilerStep#" + number(step_), begin, now_ - begin,
          R"("External id": )" + number(external_) + R"(,"Record function id": 0, "Ev Idx": 1)");
  }

  std::int64_t bytes() { return out_.tellp(); }

  void end() {
    out_ << R"(
  ],
  "traceName": "trace.json",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759310100000000000
})";
  }

 private:
  void collective(const std::string& name) {
    ++external_;
    const std::string args =
        R"("External id": )" + number(external_) + R"(,"Collective name": ")" + name +
        R"(", "In msg nelems": 1048576, "Out msg nelems": 16384, "Group size": )" +
        R"(64, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": )" +
        R"("default_pg", "Process Group Ranks": "[)" + members_ + R"(]", "Seq": )" +
        number(++sequence_) + R"(, "Record function id": 0, "Ev Idx": )" + number(external_);
    event("cpu_op", "c10d::" + name + "_", now_, 60'000,
          R"("External id": )" + number(external_ - 1) +
              R"(,"Record function id": 0, "Concrete Inputs": ["", "", "", "-1"], )"
              R"("Input type": ["TensorList", "", "", "Scalar"], "Input Dims": [[], [], [], []])");
    event("cpu_op", "record_param_comms", now_ + 1'000, 40'000, args);
    event("kernel", "ncclDevKernel_" + name + "_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          now_ + 100'000, 900'000,
          R"("queued": 0, "device": 0, "context": 1, "stream": 24, "correlation": )" +
              number(external_) +
              R"(, "registers per thread": 96, "grid": [24, 1, 1], )"
              R"("block": [544, 1, 1], "est. achieved occupancy %": 0, )" +
              args);
    now_ += 1'000'000;
  }

  void operation(const std::string& name, bool forward) {
    ++external_;
    for (int i = 0; i < others_; ++i) write("aten::mul", 9'000);
    write(name, 50'000);
    now_ += 60'000 + (forward ? 1 : 0);
  }

  void write(const std::string& name, std::int64_t ns) {
    event("cpu_op", name, now_, ns,
          R"("External id": )" + number(external_) +
              R"(,"Record function id": 0, "Sequence number": 12345, "Fwd thread id": 1, )"
              R"("Concrete Inputs": ["", "", "", "", "0.", "True", ""], )"
              R"("Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "Scalar", )"
              R"("Scalar", ""], "Input Dims": [[1, 32, 8192, 128], [1, 8, 8192, 128], )"
              R"([1, 8, 8192, 128], [], [], [], []], "Ev Idx": )" +
              number(external_));
  }

  void event(const char* category, const std::string& name, std::int64_t begin_ns, std::int64_t ns,
             const std::string& args) {
    char times[64];
    std::snprintf(times, sizeof times, "\"ts\": %lld.%03lld, \"dur\": %lld.%03lld",
                  static_cast<long long>(begin_ns / 1000), static_cast<long long>(begin_ns % 1000),
                  static_cast<long long>(ns / 1000), static_cast<long long>(ns % 1000));
    out_ << (any_ ? "," : "") << "\n  {\n    \"ph\": \"X\", \"cat\": \"" << category
         << "\", \"name\": \"" << name << "\", \"pid\": " << 4000 + rank_
         << ", \"tid\": 4711,\n    " << times << ",\n    \"args\": {\n      " << args
         << "\n    }\n  }";
    any_ = true;
  }

  std::ofstream out_;
  int rank_, step_ = 0, others_ = 0;
  bool any_ = false;
  std::int64_t now_ = 5'000'000'000'000, external_ = 0, sequence_ = 0;
  std::string members_;
};

void write(const std::string& folder, int ranks, std::int64_t megabytes, int others) {
  fs::create_directories(folder);
  for (int rank = 0; rank < ranks; ++rank) {
    RankWriter writer(folder + "/rank" + number(rank) + ".json", rank, ranks);
    while (writer.bytes() < megabytes * 1'000'000) writer.step(others);
    writer.end();
  }
}

double peakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Opens a folder, and reads what the importer made of it.
void read(const std::string& folder) {
  double bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    bytes += static_cast<double>(entry.file_size());
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  const auto trace = openTrace(folder);
  std::size_t events = 0;
  for (int rank = 0; rank < trace->worldSize(); ++rank)
    events += trace->events(WorldRank::of(rank)).size();
  const double cpu_s = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%.0f MB: %.2f s, CPU %.2f s: %.0f MB/s, by CPU time %.0f MB/s; %zu events, %zu "
      "problems, peak %.0f MiB\n",
      bytes / 1e6, took.count(), cpu_s, bytes / took.count() / 1e6, bytes / cpu_s / 1e6, events,
      trace->problems().size(), peakMiB());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    read(argv[1]);
    return 0;
  }
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: bench_kineto FOLDER [RANKS MEGABYTES [OTHERS]]\nWith RANKS, writes a file "
                 "per rank of so many megabytes, with OTHERS operators that no importer reads per "
                 "operator that it reads. Without, opens the folder.\n");
    return 2;
  }
  write(argv[1], std::atoi(argv[2]), std::atoll(argv[3]), argc > 4 ? std::atoi(argv[4]) : 0);
  return 0;
}
