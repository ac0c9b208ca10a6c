// SPDX-License-Identifier: Apache-2.0
// The speed of importing a recorded job, in lines per second and MB of values per second. See
// README.md.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/write_trace.h"
#include "traces/format/core/hash.h"
#include "traces/format/safetensors/safetensors.h"
#include "traces/format/trace/trace.h"

namespace {

using namespace ringscope::traces;
namespace fs = std::filesystem;

constexpr int kRanks = 4, kLayers = 16;
constexpr std::int64_t kHeads = 8, kRows = 1024, kHeadDim = 64;

std::string json(const char* key, std::int64_t value) {
  return std::string(",\"") + key + "\":" + std::to_string(value);
}

/// The file of one rank, in the form in which the Python recorder writes PyTorch's ring.
class RankWriter {
 public:
  RankWriter(const std::string& folder, int rank)
      : stem_("rank-0000" + std::to_string(rank)), folder_(folder), rank_(rank) {
    out_.open(folder + "/" + stem_ + ".jsonl");
    line("header", R"(,"ringscope":"recording","version":1)" + json("rank", rank) +
                       json("world_size", kRanks) +
                       R"(,"clock":{"boot_id":"one","steady_ns":1000,"unix_ns":1000})");
    line("job", R"(,"job":"bench","torch":"2.11.0","backend":"gloo","device":"cpu","cores":2)");
    line("group", R"(,"name":"0","members":[0,1,2,3])");
    line("mesh", R"(,"axes":["cp"],"ranks":[0,1,2,3],"cp_axes":["cp"],"cp_group":"0")");
  }

  /// Writes forward and backward of one layer. Returns the number of lines.
  std::int64_t layer(int step, int layer) {
    const std::int64_t before = lines_;
    for (const bool backward : {false, true}) {
      ++call_;
      const std::string direction = backward ? "backward" : "forward";
      place_ = R"(,"direction":")" + direction + "\"" + json("step", step) + R"(,"microbatch":0)" +
               json("layer", layer) + R"(,"pass":")" + direction + "\"";
      const std::string shape = "[1,8,1024,64]";
      timed("attention", json("call", call_) + place_ +
                             R"(,"operator":"ring","causal":true,"masked":false,"scale":0.125,)"
                             R"("dropout":0.0,"q_shape":)" +
                             shape + R"(,"k_shape":)" + shape +
                             R"(,"tensors":{},"ring":{"group":"0")" + json("rank", rank_) +
                             R"(,"rotate":"alltoall","load_balance":false})");
      for (int stage = 0; stage < kRanks; ++stage) ringStep(stage, backward);
      timed("attention_end",
            json("call", call_) + json("ring_steps", kRanks) + R"(,"tensors":{},"strategy":null)");
    }
    return lines_ - before;
  }

  void tensor(int step, int layer, const Bytes& data) {
    const std::string key = "t" + std::to_string(++id_);
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(mixSum64(data.data(), data.size())));
    line("tensor",
         json("id", id_) + R"(,"what":"q","name":null)" + json("step", step) +
             R"(,"microbatch":0)" + json("layer", layer) +
             R"(,"pass":"forward","dtype":"float32","shape":[1,8,1024,64],"hash":")" + digits +
             R"(","stats":{"min":-3.5,"max":3.25,"mean":0.01,"abs_max":3.5,"nan":0,"inf":0})"
             R"(,"values":{"file":")" +
             valuesName() + R"(","key":")" + key + R"("})");
    values_[key] = {"F32", {1, kHeads, kRows, kHeadDim}, data.data(), data.size()};
    if (values_.size() == 8) flush();
  }

  void end() {
    flush();
    line("end", R"(,"why":"finished")" + json("end_ns", now_));
  }

 private:
  void ringStep(int stage, bool backward) {
    const std::string at = json("call", call_) + place_ + json("ring_step", stage) +
                           json("source_rank", (rank_ - stage + kRanks) % kRanks) + R"(,"piece":0)";
    ++number_;
    line("collective",
         json("number", number_) + R"(,"operator":"all_to_all","as":"all_to_all_single")" + place_ +
             R"(,"group":"0","bytes":4194304,"reduce":null,"gradients":[])" + json("call", call_) +
             json("ring_step", stage) + json("begin_ns", now_) + json("posted_ns", now_ + 4000));
    timed("block", at + R"(,"operator":"aten::_scaled_dot_product_flash_attention_for_cpu",)"
                        R"("causal":true,"q_rows":[0,1024],"k_rows":[0,1024],)"
                        R"("k_hash":"724190cecb2774b4","tensors":{"block_out":15,"block_lse":16})");
    if (!backward) timed("merge", at + R"(,"tensors":{"running_lse":17})");
    timed("waited", json("number", number_));
    const std::int64_t posted = now_;
    line("hop", at + R"(,"payload":"kv")" + json("hop", stage + 1) + R"(,"rotate":"alltoall")" +
                    json("send_to", (rank_ + 1) % kRanks) +
                    json("receive_from", (rank_ + kRanks - 1) % kRanks) +
                    R"(,"group":"0","bytes":4194304,"moved":true)" + json("posted_ns", posted) +
                    json("wait_ns", posted + 20000) + json("end_ns", posted + 40000));
  }

  void timed(const char* kind, const std::string& fields) {
    const std::int64_t begin = now_ += 9137;
    now_ += 148500;
    line(kind, fields + json("begin_ns", begin) + json("end_ns", now_));
  }

  void line(const char* kind, const std::string& fields) {
    out_ << R"({"line":")" << kind << '"' << fields << "}\n";
    ++lines_;
  }

  std::string valuesName() const {
    char number[8];
    std::snprintf(number, sizeof number, "%04d", files_);
    return stem_ + ".values-" + number + ".safetensors";
  }

  void flush() {
    if (values_.empty()) return;
    writeSafeTensors(folder_ + "/" + valuesName(), values_);
    values_.clear();
    ++files_;
  }

  std::string stem_, folder_, place_;
  int rank_, files_ = 0;
  std::int64_t lines_ = 0, now_ = 1'000'000, call_ = 0, number_ = 0, id_ = 0;
  std::map<std::string, SafeTensorView> values_;
  std::ofstream out_;
};

/// Writes at least `lines` lines, or `values_mb` MB of values, over all ranks.
void record(const std::string& folder, std::int64_t lines, std::int64_t values_mb) {
  fs::create_directories(folder);
  Bytes data(static_cast<std::size_t>(kHeads * kRows * kHeadDim) * sizeof(float));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::uint8_t>(i * 2654435761U >> 13);
  for (int rank = 0; rank < kRanks; ++rank) {
    RankWriter writer(folder, rank);
    std::int64_t lines_left = lines / kRanks, bytes_left = values_mb * 1'000'000 / kRanks;
    for (int step = 0; lines_left > 0 || bytes_left > 0; ++step)
      for (int layer = 0; layer < kLayers && (lines_left > 0 || bytes_left > 0); ++layer) {
        if (lines_left > 0) lines_left -= writer.layer(step, layer);
        if (bytes_left > 0) {
          writer.tensor(step, layer, data);
          bytes_left -= std::ssize(data);
        }
      }
    writer.end();
  }
}

double peakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// The number of lines and bytes of values of a recording.
struct Size {
  double lines = 0, values = 0;
};

Size measureSize(const std::string& folder) {
  Size size;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors")
      size.values += static_cast<double>(entry.file_size());
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) ++size.lines;
  }
  return size;
}

/// Measures wall time and CPU time. Other work on the machine affects CPU time least.
void measure(const char* what, const Size& size, const std::function<std::size_t()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  const std::size_t problems = work();
  const double cpu_s = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%-8s %7.2f s, CPU %7.2f s: %9.0f lines/s, %6.0f MB/s; by CPU time %9.0f lines/s, %6.0f "
      "MB/s; %zu problems, peak %.0f MiB\n",
      what, took.count(), cpu_s, size.lines / took.count(), size.values / took.count() / 1e6,
      size.lines / cpu_s, size.values / cpu_s / 1e6, problems, peakMiB());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4)
    return std::fprintf(stderr, "usage: bench_import FOLDER [LINES MB to make it]\n"), 2;
  const std::string folder = argv[1], output = folder + ".rscope";
  if (argc == 4) {
    record(folder, std::atoll(argv[2]), std::atoll(argv[3]));
    return 0;
  }
  const Size size = measureSize(folder);
  std::printf("%.0f lines, %.0f MB of values\n", size.lines, size.values / 1e6);
  measure("open", size, [&] { return openTrace(folder)->problems().size(); });
  measure("import", size, [&] { return writeTrace(folder, output).size(); });
  fs::remove(output);
}
