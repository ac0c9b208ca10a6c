// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line/command.h"
#include "app/ringscope/commands/document_lengths.h"
#include "app/ringscope/commands/plan_report.h"
#include "app/ringscope/commands/predict_options.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"

namespace ringscope::app {
namespace {

using namespace traces;

/// The command line of `ringscope plan`. The default sizes are those of Llama 3 8B.
struct Options : PredictOptions {
  std::string documents;
  std::int64_t block = 128;  ///< the default BLOCK_SIZE of PyTorch's create_block_mask()
  std::int64_t chunk = 512;
  std::optional<std::int64_t> heads, kv_heads, head_dim;
};

ModelSizes chooseSizes(const Options& o) {
  if (!o.model.empty()) {
    if (o.heads || o.kv_heads || o.head_dim)
      throw usageError(
          "--model has the numbers of heads and their size; leave out --heads, "
          "--kv-heads and --head-dim, or --model");
    return readModelSizes(o.model);
  }
  ModelSizes sizes;
  const bool named = o.heads || o.kv_heads || o.head_dim;
  sizes.name = named ? "a Llama of your sizes" : "sizes of Llama 3 8B";
  sizes.layers = 1;
  sizes.heads = o.heads.value_or(32);
  sizes.kv_heads = o.kv_heads.value_or(o.heads ? sizes.heads : 8);
  sizes.head_dim = o.head_dim.value_or(128);
  sizes.hidden_size = sizes.heads * sizes.head_dim;
  sizes.intermediate_size = sizes.hidden_size * 7 / 2;
  return sizes;
}

/// Limits the time: a replay takes ranks² per sequence, balance and strategy.
void requireQuick(const DocumentLengths& sequences, std::int32_t cp) {
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 17;
  const std::int64_t most = std::max<std::int64_t>(1, kMostSteps / cp / cp);
  if (std::ssize(sequences) > most)
    throw usageError(describeCount(std::ssize(sequences), "packed sequence") + " with cp " +
                     std::to_string(cp) + " take too long to compare; use a sample of at most " +
                     describeCount(most, "sequence"));
}

int run(Options o) {
  PlanAnswer answer;
  answer.run = o.run;
  answer.run.batch = 1;
  answer.sizes = chooseSizes(o);
  if (o.link.empty() && !o.bandwidth) o.link = "nvlink4";
  const DeviceRates& rates = devicePreset(o.device).value;
  ModelAssumptions& assumed = answer.assumptions;
  assumed.hardware = chooseHardware(o);
  assumed.device = deviceSpeed(rates, o.run, o.efficiency);
  assumed.efficiency = o.efficiency;
  assumed.hardware.device = DeviceShare{rates.name, o.efficiency};
  setFloors(o, rates.floors, assumed.hardware);
  answer.sequences = readDocumentLengths(o.documents);
  requireQuick(answer.sequences, o.run.cp);
  answer.balances = compareBalances(balanceChoices(o.block, o.chunk), answer.sequences, answer.run,
                                    answer.sizes, assumed.device, assumed.hardware);
  std::cout << (o.json ? toJson(answer).dump(2) + "\n" : toText(answer));
  return kSuccess;
}

}  // namespace

void definePlan(CLI::App& command, int& exit_code) {
  auto o = std::make_shared<Options>();
  o->run.dtype = DType::kBFloat16;
  o->run.mask = MaskKind::kDocuments;
  command
      .add_option(
          "--documents", o->documents,
          "A file with the length of one document per line, in tokens; --- on a line begins "
          "the next packed sequence, and # a comment. Or a JSON list of lengths, or a list "
          "of such lists. -: standard input")
      ->required()
      ->type_name("LENGTHS");
  command.add_option("--cp", o->run.cp, "Number of ranks that share a sequence")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      .add_option("--block", o->block, "Tokens per block of ptrr: the BLOCK_SIZE of the BlockMask")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--chunk", o->chunk,
                  "Tokens per chunk that chunks deals, as chunk_size of MagiAttention")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--model", o->model,
                     "A Hugging Face folder or config.json with the sizes of a layer (default: "
                     "those of Llama 3 8B)");
  const auto size = [&](const char* option, std::optional<std::int64_t>& target, const char* text) {
    command.add_option(option, target, text)->check(CLI::Range(1, 1 << 16));
  };
  size("--heads", o->heads, "Number of query heads (default: 32)");
  size("--kv-heads", o->kv_heads, "Number of KV heads (default: 8, or the number of --heads)");
  size("--head-dim", o->head_dim, "Size of a head (default: 128)");
  addTypes(command, o->run, "Type of weights and activations");
  addHardware(command, *o);
  command.add_flag("--json", o->json, "Print as JSON");
  command.callback([=, &exit_code] { exit_code = run(*o); });
}

}  // namespace ringscope::app
