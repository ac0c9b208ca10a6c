// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/write_trace.h"

#include "traces/exchange/import/format.h"
#include "traces/format/core/output_file.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/storage/trace_path.h"

namespace ringscope::traces {

std::vector<std::string> writeTrace(const std::string& recording, const std::string& output,
                                    const Redaction& without) {
  checkOutputs({{"RECORDING", recording}}, {{"--output", output}});
  checkTracePath(output);
  const auto source = openSource(recording);
  OutputFile beside(output);
  SqliteSink sink(beside.temporaryPath(), ReplaceTrace::kAtOnce, UnclosedTrace::kIsNoTrace);
  std::vector<std::string> problems;
  std::uint64_t seq = 0;
  Redactor redactor(without);
  if (without.any())
    source->list(
        [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
          if (info.kind == ChunkKind::kTensors) redactor.look(read());
        },
        [](const std::string&) {});  // problems are reported below
  source->list(
      [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
        if (info.kind == ChunkKind::kSummaries) return;  // the sink makes its own summaries
        std::optional<Chunk> chunk = read();
        if (without.any()) chunk = redactor.apply(std::move(*chunk));
        if (!chunk) return;
        chunk->seq = ++seq;
        chunk->checksum = computeChecksum(*chunk);
        sink.write(*chunk);
      },
      [&](std::string sentence) { problems.push_back(std::move(sentence)); });
  sink.close();
  removeBeside(beside.finalPath());
  beside.finish();
  return problems;
}

}  // namespace ringscope::traces
