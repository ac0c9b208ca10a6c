// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/needs/needs.h"
#include "traces/analysis/mistakes/needs/settings_of_runs.h"

// The needs of masks, balances, lengths, sequences and buffers.
namespace ringscope::traces::needs {
namespace {

bool cuts(const RunSpec& run, const std::string& buffer) {
  const auto buffers = chosenBuffers(run);
  return std::ranges::find(buffers, buffer, &BufferChoice::name) != buffers.end();
}

/// The tokens' file says how long and how many sequences are.
bool sequencesAreUnknown(const RunSpec& run) {
  return run.seq_len == 0;
}

void takeDocuments(RunSpec& run) {
  run.mask = MaskKind::kDocuments;
  run.separator = "\n\n";
  run.seq_len = std::max<std::int64_t>(run.seq_len, 512);
}

}  // namespace

const Need kCausal = {[](Run run, Asked) { return run.mask != MaskKind::kFull; },
                      "changes nothing with a full mask, which skips no block", "--mask causal",
                      [](RunSpec& run) { run.mask = MaskKind::kCausal; }};
const Need kFullMask = {[](Run run, Asked) { return run.mask == MaskKind::kFull; },
                        "changes nothing with a mask that a load balance is made for",
                        "--mask full", [](RunSpec& run) { run.mask = MaskKind::kFull; }};
const Need kFullBlocks = {
    [](Run run, Asked) {
      return run.mask != MaskKind::kCausal || modelIsUnknown(run) || ringsOver(run, 2);
    },
    "changes nothing where a rank attends its own block only, which is causal anyway",
    "several ranks and --strategy ring or all_gather, or --mask full", takeRing};
const Need kWindow = {[](Run run, Asked) {
                        const bool sees_all = run.seq_len > 0 && run.window >= run.seq_len;
                        return modelIsUnknown(run) || (run.window > 0 && !sees_all);
                      },
                      "changes nothing where a query sees all keys before it",
                      "--mask window with a --window shorter than the sequence",
                      [](RunSpec& run) {
                        run.mask = MaskKind::kWindow;
                        run.window = 16;
                      }};
const Need kDocuments = {[](Run run, Asked) { return run.mask == MaskKind::kDocuments; },
                         "changes nothing where attention does not end at the borders of documents",
                         "--mask documents", takeDocuments};
const Need kRestarts = {
    [](Run run, Asked) { return run.mask == MaskKind::kDocuments || !run.tokens.empty(); },
    "changes nothing where positions count through the whole sequence",
    "--mask documents, with a --separator", takeDocuments};
const Need kBalance = {[](Run run, Asked) { return !dealsContiguousParts(chosenBalance(run)); },
                       "changes nothing where no load balance makes a rank's positions jump: "
                       "positions do not jump with --balance none",
                       "--balance head_tail or striped",
                       [](RunSpec& run) {
                         if (run.mask == MaskKind::kFull) run.mask = MaskKind::kCausal;
                         run.balance = defaultCausalBalance();
                       }};
const Need kUselessBalance = {[](Run run, Asked) { return evensCausalWork(chosenBalance(run)); },
                              "changes nothing without a load balance",
                              "--balance head_tail or striped",
                              [](RunSpec& run) { run.balance = defaultCausalBalance(); }};
const Need kDealtDocuments = {[](Run run, Asked) { return dealsDocuments(chosenBalance(run)); },
                              "changes nothing where no documents are dealt",
                              "--mask documents --balance per_document",
                              [](RunSpec& run) {
                                takeDocuments(run);
                                run.balance = documentBalance();
                              }};
const Need kNoDealtDocuments = {
    [](Run run, Asked) { return !dealsDocuments(chosenBalance(run)); },
    "rounds the length of the whole sequence, and per_document deals documents",
    "another --balance", [](RunSpec& run) { run.balance = defaultCausalBalance(); }};
const Need kUnevenLength = {
    [](Run run, Asked) {
      const std::int64_t unit = lengthUnit(chosenBalance(run), run.cp);
      return run.seq_len == 0 || run.seq_len % unit != 0;
    },
    "changes nothing here: the length divides into equal parts",
    "a length that does not divide into cp parts (2·cp with head_tail), and no --pad",
    [](RunSpec& run) { run.seq_len = run.seq_len / 2 * 2 + 1; }};
const Need kSeveralSequences = {
    [](Run run, Asked) { return sequencesAreUnknown(run) || run.batch / run.dp > 1; },
    "changes nothing where no load balance reorders a batch of several sequences",
    "a --batch above --dp, and no documents",
    [](RunSpec& run) {
      run.batch = 2 * run.dp;
      if (run.mask == MaskKind::kDocuments) run.mask = MaskKind::kCausal;
    }};
const Need kSequencesForRanks = {
    [](Run run, Asked) { return sequencesAreUnknown(run) || run.batch / run.dp % run.cp == 0; },
    "cuts the sequences of a batch, which do not divide among the cp ranks: the run would end at "
    "once over shapes that do not fit",
    "a --batch of dp × cp sequences, or a multiple, and no documents",
    [](RunSpec& run) {
      run.batch = std::int64_t{run.dp} * run.cp;
      if (run.mask == MaskKind::kDocuments) run.mask = MaskKind::kCausal;
    }};

const Need kPositionIds = {[](Run run, Asked) { return cuts(run, "position_ids"); },
                           "changes nothing where position_ids is not among the buffers",
                           "--buffer position_ids:1", [](RunSpec& run) { run.buffers.clear(); }};
const Need kNoRotaryTable = {
    [](Run run, Asked) { return !cuts(run, kRotaryTable); },
    "changes nothing beside a part of freqs_cis, whose rows say the positions",
    "buffers without freqs_cis", [](RunSpec& run) { run.buffers.clear(); }};
const Need kOtherPositions = {
    [](Run run, Asked) {
      return run.cp > 1 || run.mask == MaskKind::kDocuments || !run.tokens.empty();
    },
    "changes nothing on one rank whose positions count through the whole sequence",
    "a --cp above 1, or --mask documents", [](RunSpec& run) { run.cp = 2; }};
const Need kCutBuffer = {[](Run run, Asked asked) {
                           return cuts(run, asked.buffer.empty() ? "position_ids" : asked.buffer);
                         },
                         "changes nothing where the run does not cut that buffer",
                         ":buffer= with a buffer that the run cuts",
                         [](RunSpec& run) { run.buffers.clear(); }};

}  // namespace ringscope::traces::needs
