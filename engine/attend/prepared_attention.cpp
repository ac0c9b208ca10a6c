// SPDX-License-Identifier: Apache-2.0
#include "engine/attend/prepared_attention.h"

#include <ATen/ATen.h>

#include <thread>

#include "engine/data/sharded_batch.h"
#include "engine/mistakes/foresight.h"
#include "engine/mistakes/registry.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

/// Returns the run as it will be carried out. Its length is 0 here, because padding may change it.
traces::RunSpec describeAttention(const AttendInput& in, const AttendConfig& config) {
  traces::RunSpec run = config;
  run.command = traces::Command::kAttend;
  run.mask = in.mask.kind();
  run.window = in.mask.window;
  run.dtype = dtypeFrom(in.q);
  run.seq_len = 0;
  run.batch = in.q.size(0);
  run.sinks = in.sinks.defined();
  run.steps = 1;
  run.model = {"attention", 1, 0, in.q.size(1), in.k.size(1), in.q.size(3), 0};
  run.cores = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  run.balance = traces::chosenBalance(run);
  return run;
}

traces::RunSpec checkedAttention(const AttendInput& in, const AttendConfig& config) {
  traces::RunSpec run = describeAttention(in, config);
  if (const auto reason = config.seams.checks.reasonAgainst(run)) throw usageError(*reason);
  run.ulysses = traces::ulyssesSize(run);
  return run;
}

/// Rejects a length, of the sequence or of a document, that the balance cannot deal. Names --pad
/// where padding would help.
void checkLength(const traces::RunSpec& run, const std::vector<TokenRun>& documents,
                 const CheckSeams& checks) {
  if (run.balance && traces::dealsDocuments(*run.balance))
    for (const TokenRun& document : documents)
      if (const auto reason = traces::lengthRefusal("a document", document.end - document.begin,
                                                    *run.balance, run.cp))
        throw usageError(*reason + ", or pad it with --pad");
  const auto reason = checks.reasonAgainst(run);
  if (!reason) return;
  const bool can_be_padded =
      traces::lengthRefusal("a length", run.seq_len, *run.balance, run.cp).has_value();
  throw usageError(*reason + (can_be_padded ? ", or pad it with --pad" : ""));
}

/// Returns the mask and layout after seams, and the tokens of each buffer on a rank.
RankInputs attendedInputs(const SeamPlace& at, const Seams& seams, const traces::RunSpec& run,
                          const Padding& unpadded) {
  Padding padding = unpadded;
  seams.buffers.padding(padding);
  const ShardLayout layout =
      seams.buffers.layout(padding.length, run.cp, *run.balance, padding.slots);
  auto cuts = bufferCuts(traces::chosenBuffers(run), layout);
  seams.buffers.cuts(at, cuts);
  std::vector<at::Tensor> tokens;
  const at::Tensor whole = at::arange(padding.length, at::kLong).view({1, 1, -1});
  tokens.reserve(cuts.size());
  for (const BufferCut& cut : cuts) tokens.push_back(seams.buffers.cut(at, cut, whole));
  return {tokens, layout, padding.mask};
}

/// Throws usageError for a mistake that would change nothing for this input.
void checkMistakes(const Seams& seams, const traces::RunSpec& run, const Padding& padding) {
  const PlannedRun planned{run, Mesh{1, 1, run.cp}, [&](const SeamPlace& at, const Seams& made) {
                             return attendedInputs(at, made, run, padding);
                           }};
  const auto& made = seams.checks.made;
  for (std::size_t i = 0; i < made.size(); ++i) {
    Seams without;
    for (std::size_t other = 0; other < made.size(); ++other)
      if (other != i) inject(made[other].text(), without);
    if (const auto reason = foreseenReason(made[i], without, seams, planned, 0))
      throw usageError(*reason);
  }
}

}  // namespace

PreparedAttention prepareAttention(const AttendInput& input, const AttendConfig& config) {
  PreparedAttention p{checkedAttention(input, config), {}, {}};
  const Padding right =
      paddingFor(input.q.size(2), input.mask, *p.run.balance, config.cp, config.pad);
  p.declared = right.mask;
  p.padding = right;
  config.seams.buffers.padding(p.padding);
  p.run.seq_len = p.padding.length;
  checkLength(p.run, p.padding.slots, config.seams.checks);
  checkMistakes(config.seams, p.run, right);
  return p;
}

void checkAttend(const AttendInput& input, const AttendConfig& config) {
  prepareAttention(input, config);
}

}  // namespace ringscope::engine
