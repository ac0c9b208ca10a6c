// SPDX-License-Identifier: Apache-2.0
// The types that a job asserted of its tensors by spmd_types.
#include "traces/format/trace/asserted_types.h"

#include "traces/exchange/import/recording/step_notes.h"

namespace ringscope::traces {
namespace {

/// Returns the object of a line in a note. Its fields are read with care where it is used.
nlohmann::json toNote(const Line& line) {
  nlohmann::json object = line.json();
  nlohmann::json axes = nlohmann::json::object();
  const nlohmann::json& types = object["types"];
  if (types.is_object())
    for (const auto& [axis, type] : types.items())
      axes[axis] = {
          {"type", type},
          {"members", object["members"].is_object() ? object["members"][axis] : nlohmann::json()}};
  return {{"microbatch", line.microbatch()}, {"name", line.text("name")},
          {"dtype", line.text("dtype")},     {"shape", object["shape"].dump()},
          {"axes", std::move(axes)},         {"hash", line.text("hash")}};
}

}  // namespace

void addAssertedTypes(RecordedJob& job) {
  StepNotes notes;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines)
      if (line.kind() == "asserted") notes.add(line, rank.rank, toNote(line));
  notes.addTo(job, assertedTypesKey);
}

}  // namespace ringscope::traces
