// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/needs/needs.h"

#include "traces/analysis/mistakes/needs/settings_of_runs.h"

namespace ringscope::traces {

std::int64_t kvHeadsPerRank(const RunSpec& run) {
  if (run.model.heads == 0 || run.model.kv_heads == 0) return 0;
  const std::int64_t kv = std::max<std::int64_t>(1, run.model.kv_heads / run.tp);
  const std::int64_t queries = run.model.heads / run.tp,
                     group = std::max<std::int64_t>(1, queries / kv);
  const std::int64_t each = queries / std::max(1, ulyssesSize(run));
  if (each % group == 0) return each / group;
  return group % std::max<std::int64_t>(1, each) == 0 ? 1 : each;
}

RunSpec withCausalMask(const RunSpec& run) {
  RunSpec asked = run;
  if (run.mask == MaskKind::kFull) asked.mask = MaskKind::kCausal;
  return asked;
}

/// A ring cuts no heads. A rank without any head would have nothing to compute.
RunSpec withHeadsThatDivide(const RunSpec& run) {
  const std::int32_t ranks = ulyssesSize(run);
  const std::int64_t heads = run.tp > 0 ? run.model.heads / run.tp : 0;
  if (ranks < 1 || run.cp % ranks != 0 || heads < ranks) return run;
  return withoutSharedHeads(run);
}

RunSpec withLengthThatDivides(const RunSpec& run) {
  RunSpec asked = run;
  if (run.cp < 2 || run.seq_len < 1) return asked;
  const std::int64_t unit = lengthUnit(chosenBalance(run), run.cp);
  if (run.seq_len >= unit) asked.seq_len = run.seq_len / unit * unit;
  return asked;
}

namespace needs {

const Need kSeveralRanks = {[](Run run, Asked) { return run.cp > 1; },
                            "changes nothing on one rank", "a --cp above 1",
                            [](RunSpec& run) { run.cp = 2; }};
const Need kSeveralDpRanks = {[](Run run, Asked) { return run.dp > 1; },
                              "changes nothing where one dp rank reads all sequences",
                              "a --dp above 1",
                              [](RunSpec& run) {
                                run.dp = 2;
                                run.batch = std::max<std::int64_t>(2, run.batch / 2 * 2);
                              }};
const Need kSeveralLosses = {[](Run run, Asked) { return run.dp * run.cp > 1; },
                             "changes nothing where one rank has all targets",
                             "a --cp or --dp above 1", [](RunSpec& run) { run.cp = 2; }};
const Need kSeveralInWorld = {[](Run run, Asked) { return run.worldSize() > 1; },
                              "changes nothing where one rank has all gradients",
                              "a --cp, --dp or --tp above 1", [](RunSpec& run) { run.cp = 2; }};
const Need kSquareMesh = {
    [](Run run, Asked) {
      return run.cp > 1 && run.dp == run.cp && !joinsShards(run) &&
             run.mask != MaskKind::kDocuments;
    },
    "takes the dp group for the cp group, in which ranks find their places only where both have "
    "one "
    "size",
    "a mesh where --dp equals --cp and is above 1, --strategy ring or all_gather and no documents",
    [](RunSpec& run) {
      run.cp = run.dp = 2;
      run.batch = 2;
      run.strategy = RunSpec().strategy;
      if (run.mask == MaskKind::kDocuments) run.mask = MaskKind::kCausal;
    }};

const Need kTraining = {[](Run run, Asked) { return run.command != Command::kAttend; },
                        "changes nothing in one attention, which has no training step", "train"};
const Need kPaddedAttention = {
    [](Run run, Asked) { return run.command == Command::kAttend; },
    "changes nothing in training, where padding are tokens without a label", "attend with --pad"};
const Need kNoVerify = {[](Run run, Asked) { return !run.verify; },
                        "leaves ranks other rows than their shards, and --verify puts shards "
                        "together",
                        "no --verify", [](RunSpec& run) { run.verify = false; }};
const Need kSumsOfWholeRows = {[](Run run, Asked) {
                                 return modelIsUnknown(run) || ringsOver(run, 2) || run.sinks ||
                                        run.dropout > 0;
                               },
                               "changes nothing where one block has all keys of a query",
                               "several ranks and --strategy ring or all_gather", takeRing};
const Need kDropout = {[](Run run, Asked) { return run.dropout > 0; },
                       "changes nothing without dropout", "--dropout above 0",
                       [](RunSpec& run) { run.dropout = 0.2; }};
const Need kRecompute = {[](Run run, Asked) { return run.recompute; },
                         "changes nothing where activations are kept for backward", "--recompute",
                         [](RunSpec& run) { run.recompute = true; }};
const Need kTypeAboveBfloat16 = {
    [](Run run, Asked) { return run.dtype != DType::kBFloat16; },
    "rounds to bfloat16, which changes nothing where all is bfloat16 already",
    "--dtype float32 or float64", [](RunSpec& run) { run.dtype = DType::kFloat32; }};
const Need kNoSinksInAttention = {
    [](Run run, Asked) { return run.command != Command::kAttend || !run.sinks; },
    "leaves every rank the whole sequence, and the parts of the sinks' gradient are summed over "
    "ranks",
    "an input without sinks"};

const Need kSinks = {[](Run run, Asked) { return run.sinks; },
                     "changes nothing where layers have no sinks",
                     "--sinks, or an input with sinks", [](RunSpec& run) { run.sinks = true; }};

const Need kModelFolder = {
    [](Run run, Asked) { return !run.model_dir.empty(); }, "changes nothing of the sample model",
    "--model with the folder of a Gemma 2, whose scores have a scale and a softcap"};

const Need kOtherProgram = {[](Run run, Asked) { return run.command == Command::kImport; },
                            "cannot be made by this engine", "a recorded job"};

const Need kOtherBlocks = {[](Run run, Asked) { return ringsOver(run, 2); },
                           "changes nothing where no rank attends another's block",
                           "several ranks and --strategy ring or all_gather", takeRing};
const Need kMergedBlocks = {
    [](Run run, Asked) {
      const bool in_pieces = run.mask == MaskKind::kWindow || run.mask == MaskKind::kDocuments;
      return run.cp > 1 && (modelIsUnknown(run) || ringsOver(run, 2) || in_pieces);
    },
    "changes nothing where a rank attends all keys of a query in one piece",
    "several ranks and --strategy ring or all_gather", takeRing};
const Need kHops = {[](Run run, Asked) { return ringsOver(run, 2) && hasRingHops(run); },
                    "changes nothing where no block hops from rank to rank",
                    "several ranks and --strategy ring", takeRing};
const Need kSingleHops = {
    [](Run run, Asked) { return packetRoute(run.rotate) != PacketRoute::kGather; },
    "changes nothing where no block hops from rank to rank, because all are gathered at once",
    "--rotate p2p or alltoall", [](RunSpec& run) { run.rotate = hoppingRotation(); }};
const Need kLongRing = {[](Run run, Asked) { return ringsOver(run, 3); },
                        "changes nothing in a ring of two ranks, where the next rank is the "
                        "previous one too",
                        "a ring of at least 3 ranks (--cp)",
                        [](RunSpec& run) {
                          takeRing(run);
                          run.cp = 4;
                        }};
const Need kDiagonalFirst = {
    [](Run run, Asked) { return run.order == Order::kDiagonalFirst; },
    "changes nothing where the ring of backward ends with a rank's own block, whose sums are home",
    "--order diagonal_first", [](RunSpec& run) { run.order = Order::kDiagonalFirst; }};
const Need kPlainPackets = {[](Run run, Asked) { return !run.fp8; },
                            "changes nothing of FP8 packets, which are bytes without heads and "
                            "tokens",
                            "no --fp8", [](RunSpec& run) { run.fp8 = false; }};
const Need kHeadsAndTokens = {
    [](Run run, Asked) {
      const std::int64_t each = kvHeadsPerRank(run);
      const bool one_token =
          run.seq_len > 0 && run.cp > 0 && run.seq_len * ulyssesSize(run) <= run.cp;
      return each == 0 || ulyssesIsUnknown(run) || (each > 1 && !one_token);
    },
    "changes nothing of a block with one KV head or one token, which has one order in memory",
    "a smaller --tp or --ulysses, or a model with more KV heads",
    [](RunSpec& run) {
      takeRing(run);
      run.tp = 1;
      run.seq_len = std::max<std::int64_t>(run.seq_len, 64);
    }};
const Need kSharedHeads = {[](Run run, Asked) {
                             return run.cp > 1 && joinsShards(run) &&
                                    (ulyssesIsUnknown(run) || ulyssesSize(run) > 1);
                           },
                           "changes nothing where ranks share no heads",
                           "several ranks and --strategy ulysses, or hybrid with --ulysses above 1",
                           [](RunSpec& run) {
                             run.cp = 2;
                             run.strategy = headSharingStrategy();
                             run.ulysses = 0;
                             run.p2p = PointToPoint::kBatched;
                           }};
const Need kSeveralKvHeads = {
    [](Run run, Asked) { return run.model.kv_heads == 0 || run.model.kv_heads / run.tp > 1; },
    "changes nothing where all query heads of a tp rank have one KV head",
    "a smaller --tp, or a model with more KV heads", [](RunSpec& run) { run.tp = 1; }};
const Need kUnequalHeads = {
    [](Run run, Asked) {
      const std::int64_t heads = run.tp > 0 ? run.model.heads / run.tp : 0;
      return heads == 0 || heads % std::max(1, ulyssesSize(run)) != 0;
    },
    "changes nothing here: the query heads divide among the Ulysses ranks",
    "--strategy ulysses with a --cp that does not divide them, or hybrid with such an --ulysses",
    [](RunSpec& run) { run.cp = 3; }};
const Need kRingOrGather = {[](Run run, Asked) { return !joinsShards(run); },
                            "leaves sequences whole, which Ulysses ranks take for a part: the run "
                            "would end at once over shapes that do not fit",
                            "--strategy ring or all_gather",
                            [](RunSpec& run) { run.strategy = RunSpec().strategy; }};

}  // namespace needs
}  // namespace ringscope::traces
