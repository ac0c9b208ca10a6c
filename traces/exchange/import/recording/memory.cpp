// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/exchange/import/recording/job.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/declared.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

/// The categories that the recorder measures itself; their names are the same there.
constexpr MemoryCategory kSeen[] = {MemoryCategory::kWeights,   MemoryCategory::kGradients,
                                    MemoryCategory::kOptimizer, MemoryCategory::kQ,
                                    MemoryCategory::kKv,        MemoryCategory::kOutLse};

std::int64_t bytesIn(const Line& line, const char* key) {
  return std::min(line.whole(key, 0), kMostBytes);
}

/// The memory samples of one rank. A category has no sample before it was first measured.
class MemoryLines {
 public:
  MemoryLines(RecordedJob& job, std::size_t file)
      : job_(job), rank_(job.ranks[file]), shift_(job.shifts[file]) {}

  void read() {
    for (const Line& line : rank_.lines)
      if (line.kind() == "memory" && line.whole("time_ns") >= 0) addSamples(line);
    if (!last_.empty())
      job_.notes.push_back(
          {kUnseenMemoryNote + toString(rank_.rank), nlohmann::json(unseen()).dump()});
  }

 private:
  void addSamples(const Line& line) {
    const Line held = line.part("held");
    const std::int64_t time = line.whole("time_ns") + shift_;
    std::int64_t seen = 0;
    for (const MemoryCategory category : kSeen) {
      const std::int64_t bytes = bytesIn(held, name(category));
      seen += bytes;
      add(time, category, bytes);
    }
    resident_ = std::max(resident_, bytesIn(line, "resident"));
    const Line device = line.part("device");
    if (!device.has("allocated")) return;
    of_device_ = true;
    most_ = std::max(most_, bytesIn(device, "most_allocated"));
    add(time, MemoryCategory::kOther,
        std::max<std::int64_t>(bytesIn(device, "allocated") - seen, 0));
  }

  /// Describes the memory that has no category. The rest of a process includes the interpreter, its
  /// libraries and the recorder, so it is no category of the job. The rest of a device's allocator
  /// is one.
  std::string unseen() const {
    if (of_device_)
      return "Other is what PyTorch's allocator has beyond these, activations too; at most it "
             "had " +
             describeBytes(most_) + ", which may be between samples.";
    if (resident_ == 0) return "Activations and all else that the rank holds are not known.";
    return "Of the " + describeBytes(resident_) +
           " that the process had at most, activations and all else are not told apart.";
  }

  void add(std::int64_t time, MemoryCategory category, std::int64_t bytes) {
    const auto last = last_.try_emplace(category, 0).first;
    if (last->second == bytes) return;
    last->second = bytes;
    job_.memory.push_back({time, bytes, rank_.rank, category});
  }

  RecordedJob& job_;
  const RankLines& rank_;
  std::int64_t shift_;
  std::int64_t resident_ = 0, most_ = 0;  ///< largest bytes of all samples
  bool of_device_ = false;
  std::map<MemoryCategory, std::int64_t> last_;
};

}  // namespace

void addMemory(RecordedJob& job) {
  for (std::size_t file = 0; file < job.ranks.size(); ++file) MemoryLines(job, file).read();
}

}  // namespace ringscope::traces
