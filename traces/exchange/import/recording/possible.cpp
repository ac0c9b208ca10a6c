// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <vector>

#include "traces/exchange/import/recording/job.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// Removes records that admit() rejects. Gives a reason for the first record that was removed.
template <typename Record>
void leaveOut(std::vector<Record>& records, std::string_view noun, RecordedJob& job) {
  std::string why;
  const auto left_out = std::erase_if(records, [&](const Record& record) {
    try {
      admit(record);
      return false;
    } catch (const Error& error) {
      if (why.empty()) why = error.what();
      return true;
    }
  });
  if (left_out > 0)
    job.problems.push_back(describeCount(static_cast<std::int64_t>(left_out), noun) +
                           " cannot be and are left out: " + why);
}

}  // namespace

void leaveOutImpossible(RecordedJob& job) {
  leaveOut(job.groups, "group", job);
  leaveOut(job.microbatch_groups, "group", job);
  leaveOut(job.intents, "intent", job);
  leaveOut(job.schedules, "schedule", job);
  leaveOut(job.shards, "buffer", job);
  leaveOut(job.microbatch_shards, "buffer", job);
  leaveOut(job.events, "event", job);
  leaveOut(job.memory, "memory sample", job);
  leaveOut(job.notes, "note", job);
  leaveOut(job.tensors, "tensor", job);
  std::map<std::int64_t, std::function<Bytes()>> kept;
  for (const TensorRecord& tensor : job.tensors)
    if (auto values = job.kept.extract(tensor.id.value())) kept.insert(std::move(values));
  job.kept = std::move(kept);
}

}  // namespace ringscope::traces
