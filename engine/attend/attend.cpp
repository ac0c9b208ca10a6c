// SPDX-License-Identifier: Apache-2.0
#include "engine/attend/attend.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/attend/prepared_attention.h"
#include "engine/data/sharded_batch.h"
#include "engine/kernels/sinks.h"
#include "engine/launch/rank_threads.h"
#include "engine/mistakes/foresight.h"
#include "engine/parallel/gather.h"
#include "engine/tensors/tensor_io.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kSeqDim = 2;
constexpr const char* kResults[] = {"out", "lse", "dq", "dk", "dv"};
constexpr const char* kSinkGradient = "dsinks";  // has no sequence dimension: the ranks' parts are
                                                 // added up

/// The results of all ranks: one list of shards per result.
using Shards = std::map<std::string, std::vector<at::Tensor>>;

/// Returns the intent that the input declares.
traces::IntentRecord describeIntent(const Mask& mask, const traces::RunSpec& run) {
  traces::IntentRecord intent;
  // Padding turns a full mask into a mask of one document, but the declared mask stays full.
  intent.mask = mask.causal ? mask.kind() : traces::MaskKind::kFull;
  intent.window = mask.window;
  intent.documents = mask.documents;
  intent.balance = *run.balance;
  for (const auto& choice : traces::chosenBuffers(run))
    intent.buffers.push_back({choice.name, choice.seq_dim});
  return intent;
}

/// The state that all ranks of one call share.
struct AttendSetup {
  const AttendConfig& config;
  AttendInput in;       ///< padded if requested
  traces::RunSpec run;  ///< with all defaults filled in
  ShardLayout layout;
};

/// A rank's parts of the inputs, on its device.
class LocalParts {
 public:
  LocalParts(RankContext& context, const AttendSetup& setup)
      : context_(context),
        at_(context.seamPlace({0})),
        cuts_(bufferCuts(traces::chosenBuffers(setup.run), setup.layout)) {
    context.seams.buffers.cuts(at_, cuts_);
  }
  at::Tensor operator()(const std::string& buffer, const at::Tensor& whole) const {
    return localPart(buffer, whole, cuts_,
                     [this](const BufferCut& cut, const at::Tensor& t) {
                       return context_.seams.buffers.cut(at_, cut, t);
                     })
        .to(context_.device);
  }
  /// Records how a buffer was actually cut.
  void record(const std::string& buffer, const at::Tensor& whole, const at::Tensor& part) const {
    const auto cut = std::ranges::find(cuts_, buffer, &BufferCut::buffer);
    if (cut == cuts_.end()) return;
    context_.observer.shard({buffer, 0, context_.worldRank(), true,
                             static_cast<std::int32_t>(cut->seq_dim), whole.sizes().vec(),
                             part.sizes().vec(),
                             tokensOfPart(*cut, whole, part, kSeqDim, context_.rank())});
  }

 private:
  RankContext& context_;
  SeamPlace at_;
  std::vector<BufferCut> cuts_;
};

/// Runs one rank: shards the inputs, runs forward and backward, and stores the last results. Rank 0
/// stores the times.
void runRank(RankContext& context, const AttendSetup& setup, Shards& shards,
             AttendOutcome& outcome) {
  const GroupRank rank = context.rank();
  const std::size_t at_rank = rank.index();
  const AttendInput& in = setup.in;
  context.seams = setup.config.seams;
  const LocalParts local(context, setup);
  auto together = [&] {
    context.finishDeviceWork();
    context.cp.barrier();
  };
  const at::Tensor q = local("q", in.q), k = local("k", in.k), v = local("v", in.v),
                   dout = local("dout", in.dout);
  local.record("q", in.q, q);
  AttentionResult result;
  AttentionGradients g;
  recordSchedules(context, setup.run, setup.layout, in.mask, 0);
  for (int round = 0; round < setup.config.repeat; ++round) {
    const auto op = makeAttention(context, setup.run, setup.layout, in.mask,
                                  Softmax{{in.scale}, {setup.run.dropout, setup.run.seed}});
    if (in.sinks.defined()) op->setSinks(in.sinks.to(context.device));
    together();
    const std::int64_t begin = traces::steadyNow();
    result = op->forward(q, k, v, kOnlyLayer);
    together();
    const std::int64_t middle = traces::steadyNow();
    if (!setup.config.forward_only) g = op->backward(dout, q, k, v, result, kOnlyLayer);
    together();
    outcome.hops[at_rank] = op->hops();
    outcome.work[at_rank] = op->work();
    if (!context.isFirstOfWorld()) continue;
    outcome.forward_seconds.push_back(static_cast<double>(middle - begin) * 1e-9);
    outcome.backward_seconds.push_back(static_cast<double>(traces::steadyNow() - middle) * 1e-9);
  }
  if (in.sinks.defined())
    context.observer.tensor({traces::TensorKind::kSinks},
                            {0, kOnlyLayer, traces::Direction::kForward, {}}, in.sinks);
  const at::Tensor* all[] = {&result.out, &result.lse, &g.dq, &g.dk, &g.dv};
  for (std::size_t i = 0; i < std::size(kResults); ++i) {
    if (!all[i]->defined()) continue;
    shards.at(kResults[i])[at_rank] = all[i]->cpu();
    const auto direction = i < 2 ? traces::Direction::kForward : traces::Direction::kBackward;
    context.observer.tensor(traces::TensorName::of(kResults[i]), {0, kOnlyLayer, direction, {}},
                            *all[i]);
  }
  if (in.sinks.defined() && g.dq.defined())
    shards.at(kSinkGradient)[at_rank] =
        sinkGradient(in.sinks.to(context.device), dout, result).cpu();
  context.observer.sampleMemory({0, kOnlyLayer, traces::Direction::kBackward, {}});
}

/// Packs the numbers of one rank into one tensor; unpackNumbers() is the inverse.
at::Tensor packedNumbers(const HopTotals& h, std::int64_t work) {
  return at::tensor(
      {std::int64_t{h.kv_forward}, std::int64_t{h.kv_backward}, std::int64_t{h.dkv_backward},
       std::int64_t{h.heads_forward}, std::int64_t{h.heads_backward}, h.bytes_forward,
       h.bytes_backward, h.wait_ns, work},
      at::kLong);
}
void unpackNumbers(const at::Tensor& t, HopTotals& h, std::int64_t& work) {
  const auto* n = t.const_data_ptr<std::int64_t>();
  h = {static_cast<int>(n[0]),
       static_cast<int>(n[1]),
       static_cast<int>(n[2]),
       static_cast<int>(n[3]),
       static_cast<int>(n[4]),
       n[5],
       n[6],
       n[7]};
  work = n[8];
}

/// Gathers the results of ranks of other processes on rank 0.
void collect(RankContext& context, Shards& shards, AttendOutcome& outcome) {
  const MemoryScope memory(MemoryCategory::kVerify);  // gathered results are not part of
                                                      // attention's memory
  const std::size_t mine = context.rank().index();
  auto gathered = [&](const at::Tensor& t) {
    return gatherToFirst(context.cp, t.to(context.device));
  };
  for (auto& [name, of_ranks] : shards) {
    if (!of_ranks[mine].defined()) continue;
    if (auto all = gathered(of_ranks[mine]); !all.empty()) of_ranks = std::move(all);
  }
  const auto numbers = gathered(packedNumbers(outcome.hops[mine], outcome.work[mine]));
  for (std::size_t r = 0; r < numbers.size(); ++r)
    unpackNumbers(numbers[r], outcome.hops[r], outcome.work[r]);
}

/// Returns the merged blocks of the tokens without padding.
traces::MergedBlocks mergedBlocks(const AttendSetup& setup, const Mask& mask,
                                  const Padding& padding) {
  const auto all = traces::MergedBlocks::of(setup.layout.joined(setup.run.ulysses), mask);
  const at::Tensor own =
      padding.unpadded(at::arange(setup.layout.length(), at::kLong), 0).contiguous();
  const auto* first = own.const_data_ptr<std::int64_t>();
  const std::vector<std::size_t> tokens(first, first + own.numel());
  return all.selected(tokens, tokens);
}

void reportUnseenMistakes(RankContext& context, traces::Recorder* recorder,
                          AttendOutcome& outcome) {
  std::vector<std::pair<std::string, bool>> watched;
  for (const WatchedMistake& mistake : context.seams.watched)
    watched.emplace_back(mistake.id, *mistake.changed);
  auto unseen = unseenMistakes(watched, context.cp);
  if (!context.isFirstOfWorld()) return;
  outcome.unseen_mistakes = std::move(unseen);
  if (recorder && !outcome.unseen_mistakes.empty())
    recorder->note(traces::kUnseenMistakesNote, std::to_string(outcome.unseen_mistakes.size()));
}

}  // namespace

AttendOutcome attend(const AttendInput& input, const AttendConfig& config, Gate& gate,
                     traces::Recorder* recorder) {
  const auto [run, padding, declared] = prepareAttention(input, config);
  const BufferSeams& seams = config.seams.buffers;
  auto padded = [&](const at::Tensor& t) { return padding.padded(t, kSeqDim); };
  const AttendSetup setup{config,
                          {padded(input.q), padded(input.k), padded(input.v), padded(input.dout),
                           padding.mask, input.scale, input.sinks},
                          run,
                          seams.layout(padding.length, config.cp, *run.balance, padding.slots)};
  const auto ranks = static_cast<std::size_t>(config.cp);
  Shards shards;
  for (const char* name : kResults) shards[name].resize(ranks);
  shards[kSinkGradient].resize(ranks);
  AttendOutcome outcome;
  outcome.device = config.device;
  outcome.hops.resize(ranks);
  outcome.work.resize(ranks);
  RankThreadOptions options;
  options.mesh.cp = config.cp;
  options.recorder = recorder;
  options.capture = CapturePolicy::parse(config.capture);
  if (recorder || config.track_memory) options.memory = std::make_shared<MemoryTracker>(config.cp);
  if (recorder) {
    recorder->record(run);
    recorder->record(describeIntent(declared, run));
    for (const auto& group : options.mesh.groups(run.ulysses)) recorder->record(group);
  }
  options.transport = config.transport;
  options.device = config.device;
  options.timeout = config.timeout;
  if (options.memory && !config.fromEnvironment()) outcome.peak_bytes.resize(ranks);
  auto body = [&](RankContext& context) {
    runRank(context, setup, shards, outcome);
    if (!outcome.peak_bytes.empty())  // read before results are gathered
      outcome.peak_bytes[context.rank().index()] = options.memory->peak(context.worldRank()).bytes;
    reportUnseenMistakes(context, recorder, outcome);
    if (config.fromEnvironment()) collect(context, shards, outcome);
  };
  const bool stopped =
      config.fromEnvironment()
          ? runRankProcess(options, RankEnvironment::read(Mesh{1, 1, config.cp}), gate, body)
          : runRankThreads(options, gate, body);
  if (stopped) throw runFailed("stopped before the end");
  if (!shards["out"].back().defined() || !shards["out"].front().defined()) return outcome;
  for (const char* name : kResults)
    if (shards[name].front().defined())
      outcome.tensors[name] =
          padding.unpadded(seams.joined(shards[name], kSeqDim, setup.layout), kSeqDim);
  if (const auto& parts = shards[kSinkGradient]; parts.front().defined())
    outcome.tensors[kSinkGradient] = at::stack(parts).sum(0).to(input.sinks.scalar_type());
  outcome.blocks = mergedBlocks(setup, declared, padding);
  return outcome;
}

}  // namespace ringscope::engine
