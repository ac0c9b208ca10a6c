// SPDX-License-Identifier: Apache-2.0
// Compares the position ids that each rank's model really used with the global index of its tokens.
#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

struct Count {
  std::int64_t tokens = 0;
  std::int64_t wrong = 0;
  std::int64_t restarting = 0;  // equal to the local index instead
  double max_offset = 0;
};

/// positions: [B, S_local] or [S_local], row-major.
Count compare(const std::vector<double>& positions, const std::vector<TokenRun>& runs) {
  std::vector<std::int64_t> expected;
  for (const TokenRun& run : runs)
    for (std::int64_t g = run.begin; g < run.end; ++g) expected.push_back(g);
  Count count;
  if (expected.empty()) return count;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::size_t local = i % expected.size();
    const double should = static_cast<double>(expected[local]);
    ++count.tokens;
    if (positions[i] == should) continue;
    ++count.wrong;
    count.restarting += positions[i] == static_cast<double>(local);
    count.max_offset = std::max(count.max_offset, std::abs(positions[i] - should));
  }
  return count;
}

Finding finding(const Place& place, int rank, const Count& all) {
  Finding f;
  f.rule = "missing_position_ids";
  f.severity = "error";
  f.confidence = all.restarting == all.wrong ? "certain" : "likely";
  f.title = all.restarting == all.wrong ? "Position ids restart on every rank"
                                        : "Position ids are not those of the rank's tokens";
  f.place = place;
  f.rank = rank;
  f.buffer = "position_ids";
  f.evidence = std::to_string(all.wrong) + " of " + std::to_string(all.tokens) +
               " position ids differ from the global index of their token, by up to " +
               std::to_string(static_cast<std::int64_t>(all.max_offset)) + "; " +
               std::to_string(all.restarting) +
               " of them count the rank's own tokens from 0, so the "
               "rotary embedding turns keys and queries by the angles of other places.";
  f.remedy =
      "Build position_ids for the whole sequence before the context is entered and shard them with "
      "the tokens: buffers=[input_ids, labels, position_ids], buffer_seq_dims=[1, 1, 1].";
  return f;
}

}  // namespace

RuleResult checkMissingPositionIds(const Trace& trace) {
  // Packed documents that count from 0 each have a rule of their own.
  if (trace.run().value("positions", "global") != "global") return clear();
  Count all;
  Place first_place;
  int first_rank = -1;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.name != "position_ids") continue;
    const ShardRecord* tokens = trace.findShard("input_ids", tensor.place.train_step, tensor.rank);
    const auto values = trace.values(tensor);
    if (!tokens || !values) continue;
    const Count count = compare(*values, tokens->global_from_local);
    if (count.wrong > 0 && first_rank < 0) {
      first_rank = tensor.rank;
      first_place = tensor.place;
    }
    all.tokens += count.tokens;
    all.wrong += count.wrong;
    all.restarting += count.restarting;
    all.max_offset = std::max(all.max_offset, count.max_offset);
  }
  if (all.tokens == 0)
    return notObservable("needs the values of position_ids; --capture stats records them");
  return all.wrong == 0 ? clear() : found(finding(first_place, first_rank, all));
}

}  // namespace ringscope::traces
