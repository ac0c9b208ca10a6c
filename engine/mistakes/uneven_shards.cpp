// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

using Reason = std::optional<std::string>;

std::int64_t roundedDown(std::int64_t length, Balance balance, int cp) {
  const std::int64_t unit = traces::lengthUnit(balance, cp);
  return length / unit * unit;
}

/// Everything else that could be wrong with the run is asked as of the length that is left.
Reason refusedButForLength(const traces::RunSpec& run,
                           const std::function<Reason(const traces::RunSpec&)>& correct) {
  const Balance balance = traces::chosenBalance(run);
  if (run.cp < 1 || run.seq_len < 1) return correct(run);
  if (run.cp == 1) {
    const Reason reason = correct(run);
    return reason ? reason : "uneven_shards changes nothing on one rank; use a --cp above 1";
  }
  traces::RunSpec as_cut = run;
  as_cut.seq_len = roundedDown(run.seq_len, balance, run.cp);
  if (as_cut.seq_len < 1) return correct(run);
  if (Reason reason = correct(as_cut)) return reason;
  if (balance == Balance::kPerDocument)
    return "uneven_shards rounds the length of the whole sequence, and per_document deals "
           "documents; use another --balance";
  if (as_cut.seq_len == run.seq_len)
    return "uneven_shards changes nothing here: the length of " + std::to_string(run.seq_len) +
           " divides into " + std::to_string(traces::lengthUnit(balance, run.cp)) +
           " equal parts; use one that does not, and no --pad";
  if (run.verify)
    return "uneven_shards loses the last tokens, whose rows --verify would compare; leave one out";
  return {};
}

}  // namespace

/// Shards are as long as length ÷ ranks rounded down, and the last tokens are on no rank.
void injectUnevenShards(Seams& seams) {
  seams.checks.refusal = [before = seams.checks.refusal](const traces::RunSpec& run) {
    return refusedButForLength(run, before);
  };
  seams.buffers.layout = [before = seams.buffers.layout](std::int64_t length, int cp_size,
                                                         Balance balance,
                                                         const std::vector<TokenRun>& documents) {
    return before(roundedDown(length, balance, cp_size), cp_size, balance, documents);
  };
  seams.buffers.cut = [before = seams.buffers.cut](const SeamPlace& at, const BufferCut& how,
                                                   const at::Tensor& whole) {
    return before(at, how, whole.narrow(how.seq_dim, 0, how.layout.length()));
  };
}

}  // namespace ringscope::engine
