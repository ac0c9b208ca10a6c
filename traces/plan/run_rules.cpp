// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/run_rules.h"

#include <algorithm>
#include <cmath>

namespace ringscope::traces {
namespace {

using Reason = std::optional<std::string>;

std::string text(std::int64_t number) {
  return std::to_string(number);
}

bool isCausal(const RunSpec& run) {
  return run.mask != MaskKind::kFull;
}

Reason refusedMesh(const RunSpec& run) {
  if (run.dp < 1 || run.tp < 1 || run.cp < 1) return "dp, tp and cp are at least 1";
  const std::int64_t ranks = std::int64_t{run.dp} * run.tp * run.cp;
  if (run.launch != Launch::kEnv && ranks > kMostLocalRanks)
    return "dp × tp × cp = " + text(ranks) + " ranks; one machine takes " + text(kMostLocalRanks) +
           " at most";
  return {};
}

Reason refusedMask(const RunSpec& run) {
  if (run.mask == MaskKind::kWindow && run.window < 1)
    return "a window sees at least 1 key, the query's own; " + text(run.window) +
           " were asked for (--window)";
  if (run.window < 0) return "a window of " + text(run.window) + " keys cannot be";
  const Balance balance = chosenBalance(run);
  if (!isCausal(run) && evensCausalWork(balance))
    return std::string("--balance ") + name(balance) +
           " evens out causal work; with a full mask every shard has the same work already, so "
           "use --balance none";
  if (needsDocuments(balance) && run.mask != MaskKind::kDocuments)
    return std::string("--balance ") + name(balance) +
           " deals documents out, and there are none without --mask documents and cu_seqlens; use "
           "none, head_tail or striped";
  return {};
}

Reason refusedHeads(const RunSpec& run) {
  const ModelShape& model = run.model;
  if (!choosesUlyssesSize(run.strategy) && run.ulysses > 0 && run.command != Command::kImport &&
      run.ulysses != ulyssesSize(run))
    return "--ulysses says how many ranks share heads in --strategy hybrid; with --strategy " +
           std::string(name(run.strategy)) + " leave it out";
  if (choosesUlyssesSize(run.strategy) && run.ulysses > 0 && run.cp % run.ulysses != 0)
    return "--ulysses " + text(run.ulysses) + " does not divide cp = " + text(run.cp) +
           "; use a divisor of it";
  if (model.heads < 1) return {};
  if (model.heads % run.tp != 0)
    return text(model.heads) + " query heads do not divide among tp = " + text(run.tp) +
           " ranks; use a --tp that divides them";
  const std::int64_t heads = model.heads / run.tp, ulysses = ulyssesSize(run);
  if (heads % ulysses != 0)
    return text(heads) + " query heads do not divide among " + text(ulysses) +
           " Ulysses ranks; use fewer (--strategy hybrid --ulysses N), or strategy ring";
  if (model.kv_heads < 1) return {};
  if (model.heads % model.kv_heads != 0)
    return text(model.heads) + " query heads do not divide into " + text(model.kv_heads) +
           " key-value heads";
  if (model.kv_heads % run.tp != 0 && run.tp % model.kv_heads != 0)
    return text(model.kv_heads) + " key-value heads do not divide among tp = " + text(run.tp) +
           " ranks; use a --tp that divides them";
  return {};
}

Reason refusedBatch(const RunSpec& run) {
  if (run.command != Command::kTrain) return {};
  if (run.batch < 1 || run.batch % run.dp != 0)
    return "a batch of " + text(run.batch) +
           " sequences does not divide among dp = " + text(run.dp) +
           " ranks; use a --batch that --dp divides";
  return {};
}

Reason refusedTransport(const RunSpec& run) {
  if (run.launch != Launch::kThreads && run.transport == TransportKind::kLocal)
    return std::string("--transport local joins threads of one process; --launch ") +
           name(run.launch) + " needs --transport gloo or nccl";
  if (run.device == Device::kCuda && run.transport == TransportKind::kGloo)
    return "--transport gloo does not move tensors of --device cuda; use local (virtual ranks on "
           "one GPU) or nccl (a GPU a rank)";
  if (run.device == Device::kCpu && run.transport == TransportKind::kNccl)
    return "--transport nccl does not move tensors of --device cpu; use local or gloo";
  return {};
}

Reason refusedKernel(const RunSpec& run) {
  if (run.kernel == Kernel::kAuto || run.kernel == Kernel::kMath) return {};
  const std::string asked = std::string("--kernel ") + name(run.kernel);
  if (run.dropout > 0)
    return asked + " drops no pairs here; with --dropout use --kernel math or auto";
  if (run.device == Device::kCpu) {
    if (run.kernel == Kernel::kFlash) return {};
    return asked + " is an operator of --device cuda alone; here use flash, math or auto";
  }
  const bool half = run.dtype == DType::kBFloat16 || run.dtype == DType::kFloat16;
  if (run.kernel == Kernel::kFlash && !half)
    return asked + " on --device cuda takes bfloat16 and float16, not " + name(run.dtype) +
           (run.dtype == DType::kFloat32 ? "; use efficient, math or auto" : "; use math or auto");
  if (run.dtype == DType::kFloat64) return asked + " takes no float64; use --kernel math or auto";
  if (run.mask == MaskKind::kWindow || run.window > 0)
    return asked +
           " on --device cuda takes no mask of its own, which a window needs at its edges; "
           "use --kernel math or auto";
  const std::int64_t width = run.model.head_dim, most = 256;
  if (width % 8 != 0 || (run.kernel == Kernel::kFlash && width > most))
    return asked + " on --device cuda takes head sizes that 8 divides" +
           (run.kernel == Kernel::kFlash ? ", up to " + text(most) : "") + ", not " + text(width) +
           "; use --kernel math or auto";
  return {};
}

Reason refusedHops(const RunSpec& run) {
  if (run.p2p == PointToPoint::kBatched || hasRingHops(run) || run.command == Command::kImport)
    return {};
  return std::string("--p2p ") + name(run.p2p) +
         " says how the hops of a ring are posted, and --strategy " + name(run.strategy) +
         " has none; use --strategy ring or hybrid, or leave it out";
}

/// A buffer that a command can cut along its one sequence dimension.
struct KnownBuffer {
  const char* name;
  std::int32_t seq_dim;
  bool needed;  ///< a rank cannot combine its own tokens with the whole of this buffer
};
constexpr KnownBuffer kOfTraining[] = {{"input_ids", 1, true},
                                       {"labels", 1, true},
                                       {"position_ids", 1, false},
                                       {kRotaryTable, 0, false}};
constexpr KnownBuffer kOfAttention[] = {
    {"q", 2, true}, {"k", 2, true}, {"v", 2, true}, {"dout", 2, true}};

std::vector<KnownBuffer> knownBuffers(const RunSpec& run) {
  if (run.command == Command::kAttend) return {std::begin(kOfAttention), std::end(kOfAttention)};
  return {std::begin(kOfTraining), std::end(kOfTraining)};
}

Reason refusedBuffers(const RunSpec& run) {
  if (run.buffers.empty() || run.command == Command::kImport) return {};
  const auto known = knownBuffers(run);
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const KnownBuffer& buffer : known) names.push_back(buffer.name);
  const auto count = [&](const std::string& name) {
    return std::ranges::count(run.buffers, name, &BufferChoice::name);
  };
  for (const BufferChoice& choice : run.buffers) {
    const auto found = std::ranges::find(known, choice.name, &KnownBuffer::name);
    if (found == known.end()) return unknownName("buffer", choice.name, names);
    if (choice.seq_dim != found->seq_dim)
      return "the sequence is dimension " + text(found->seq_dim) + " of " + choice.name + ", not " +
             text(choice.seq_dim) + "; use --buffer " + choice.name + ":" + text(found->seq_dim);
    if (count(choice.name) > 1) return "--buffer names " + choice.name + " twice; once is enough";
    if (choice.name != kRotaryTable) continue;
    if (run.mask == MaskKind::kDocuments)
      return "freqs_cis has a row for each token of the sequence, and positions count anew in each "
             "document of --mask documents; use --buffer position_ids:1";
    if (!choice.restore && run.steps > 1)
      return "freqs_cis is one table for all steps, and without restore the second step would find "
             "a "
             "shard of it; use --buffer freqs_cis:0:restore";
  }
  for (const KnownBuffer& buffer : known)
    if (buffer.needed && count(buffer.name) == 0)
      return std::string("without ") + buffer.name +
             " among the buffers every rank would keep all of it beside its part of the others; "
             "add "
             "--buffer " +
             buffer.name + ":" + text(buffer.seq_dim);
  return {};
}

/// Returns a refusal such as "--lr nan cannot be; it is …" for a number outside its range.
Reason refusedNumber(const char* option, double value, bool fits, const char* range) {
  if (std::isfinite(value) && fits) return {};
  char digits[32];
  std::snprintf(digits, sizeof digits, "%g", value);
  return std::string(option) + " " + digits + " cannot be; it is " + range;
}

Reason refusedNumbers(const RunSpec& run) {
  if (auto r = refusedNumber("--lr", run.lr, run.lr >= 0, "a finite number from 0 on")) return r;
  if (auto r = refusedNumber("--weight-decay", run.weight_decay, run.weight_decay >= 0,
                             "a finite number from 0 on"))
    return r;
  if (auto r =
          refusedNumber("--max-norm", run.max_norm, run.max_norm > 0, "a finite number above 0"))
    return r;
  if (auto r = refusedNumber("--dropout", run.dropout, run.dropout >= 0 && run.dropout < 1,
                             "from 0 to below 1"))
    return r;
  if (run.steps < 1) return "--steps " + text(run.steps) + " cannot be; it is at least 1";
  if (run.dropout > 0 && run.verify)
    return "--verify compares with unsharded attention, which drops no pairs as --dropout does; "
           "leave one out";
  return {};
}

}  // namespace

std::vector<BufferChoice> chosenBuffers(const RunSpec& run) {
  if (!run.buffers.empty()) return run.buffers;
  std::vector<BufferChoice> all;
  for (const KnownBuffer& buffer : knownBuffers(run))
    if (buffer.name != std::string_view(kRotaryTable))
      all.push_back({buffer.name, buffer.seq_dim, true});
  return all;
}

Balance chosenBalance(const RunSpec& run) {
  if (run.balance) return *run.balance;
  return isCausal(run) && run.cp > 1 ? defaultCausalBalance() : Balance::kNone;
}

Reason lengthRefusal(const std::string& what, std::int64_t length, Balance balance,
                     std::int32_t cp) {
  const std::int64_t parts = lengthUnit(balance, cp);
  if (length > 0 && length % parts == 0) return {};
  const std::string into =
      parts == cp ? "cp = " + text(cp) + " shards"
                  : "2·cp = " + text(parts) + " chunks, which " + name(balance) + " needs";
  const std::int64_t below = length / parts * parts;
  return what + " of " + text(length) + " does not divide into " + into + "; use a multiple of " +
         text(parts) + ", such as " + (below > 0 ? text(below) + " or " : "") + text(below + parts);
}

Reason refusal(const RunSpec& run) {
  for (const auto check : {refusedMesh, refusedMask, refusedHeads, refusedBatch, refusedTransport,
                           refusedKernel, refusedHops, refusedBuffers, refusedNumbers})
    if (auto reason = check(run)) return reason;
  const Balance balance = chosenBalance(run);
  // Documents are dealt one by one, and only the data say where they end. Training pads each
  // document.
  const bool known =
      run.seq_len > 0 && (!dealsDocuments(balance) || run.command == Command::kTrain);
  return known ? lengthRefusal("a length", run.seq_len, balance, run.cp) : std::nullopt;
}

}  // namespace ringscope::traces
