// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>
#include <set>

#include "traces/format/trace/ending.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

/// Adds a chunk, or notes a problem when it cannot be decoded. The rest of the trace is read in any
/// case.
void addOrNote(Trace& trace, const Chunk& chunk) {
  const std::string which = describe(chunk) + ": ";
  try {
    trace.add(chunk);
  } catch (const Error& error) {
    trace.addProblem(error.what());
  } catch (const std::bad_alloc&) {
    trace.addProblem(which + "there is not enough memory for it");
  } catch (const std::exception& error) {
    trace.addProblem(which + error.what());
  }
}

/// The content of a source: rows by kind of chunk, and the tensors that have values.
struct Contents {
  std::vector<std::uint64_t> rows = noRows();
  std::set<TensorId::Value> values;
};

/// Compares what was read with the recorder's own counts.
void noteLosses(Trace& trace, const Contents& read) {
  for (std::size_t i = 0; trace.end() && i < read.rows.size(); ++i) {
    const auto kind = static_cast<ChunkKind>(i);
    // The end record counts what came before it; summaries are written after it.
    if (kind == ChunkKind::kEnd || kind == ChunkKind::kSummaries) continue;
    const auto& recorded = trace.end()->rows_by_kind;
    const std::uint64_t rows = i < recorded.size() ? recorded[i] : 0;
    if (rows != read.rows[i])
      trace.addProblem(std::string(name(kind)) + " are missing: " + std::to_string(rows) +
                       " were recorded, " + std::to_string(read.rows[i]) + " are readable");
  }
  const auto lost = std::ranges::count_if(trace.tensors(), [&](const TensorRecord& tensor) {
    return tensor.has_values && !read.values.contains(tensor.id.value());
  });
  if (lost > 0)
    trace.addProblem("the values of " +
                     (lost == 1 ? "one tensor" : std::to_string(lost) + " tensors") +
                     " are missing");
}

/// Adds a chunk by its summary, or reads it when it has no valid summary.
void take(Trace& trace, const ChunkInfo& info, const std::function<Chunk()>& read) {
  std::string why;
  try {
    if (info.summary) return trace.expect(info);
  } catch (const Error& error) {
    why = describe(info) + ": " + error.what();
  }
  addOrNote(trace, read());
  if (!why.empty()) trace.addProblem(std::move(why));
}

/// Adds the run's ending as the first problem, unless it ended well.
void noteEnding(Trace& trace) {
  const Ending ending = findEnding(trace);
  if (!ending.whole()) trace.addFirstProblem(describe(ending));
}

}  // namespace

std::shared_ptr<Trace> readTrace(std::shared_ptr<ChunkSource> source) {
  ChunkSource& listed = *source;
  auto trace = std::make_shared<Trace>(std::move(source));
  Contents contents;
  listed.list(
      [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
        if (info.kind == ChunkKind::kValues)
          contents.values.insert(tensorIdFrom(info).value());
        else if (info.kind != ChunkKind::kSummaries)
          take(*trace, info, read);
        contents.rows[static_cast<std::size_t>(info.kind)] += info.rows;
      },
      [&](const std::string& sentence) { trace->addProblem(sentence); });
  trace->updateMoments();
  noteLosses(*trace, contents);
  noteEnding(*trace);
  return trace;
}

}  // namespace ringscope::traces
