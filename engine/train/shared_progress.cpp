// SPDX-License-Identifier: Apache-2.0
#include "engine/train/shared_progress.h"

#include <ATen/ATen.h>

#include "engine/data/batch_layout.h"
#include "engine/mistakes/foresight.h"
#include "engine/parallel/gather.h"
#include "engine/verify/gathered_step.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/clock.h"

namespace ringscope::engine {

SharedProgress::SharedProgress(const TrainSetup& setup, traces::Recorder* recorder,
                               const TrainHooks& hooks, std::shared_ptr<MemoryTracker> memory,
                               Gate& gate)
    : setup_(setup),
      recorder_(recorder),
      hooks_(hooks),
      memory_(std::move(memory)),
      verification_(StepVerifier(setup.model, setup.layout, setup.masks, setup.type, setup.run.fp8,
                                 setup.run.tp, setup.run.device, setup.run.ulysses),
                    recorder, CapturePolicy::parse(setup.run.capture),
                    [this, &gate](const auto& diffs) {
                      if (hooks_.on_diffs) hooks_.on_diffs(diffs);
                      gate.poke();
                    }),
      store_(setup.config.checkpoint_dir) {}

void SharedProgress::runRank(RankContext& context, const LlamaWeights& initial,
                             const std::optional<Checkpoint>& resumed) {
  RankTrainer trainer(context, setup_, initial);
  const auto first = static_cast<std::int32_t>(resumed ? resumed->info().next_step : 0);
  if (resumed) trainer.restore(*resumed);
  for (std::int32_t step = first; step < setup_.run.steps; ++step) {
    runStep(context, trainer, step);
    const int every = setup_.config.checkpoint_every;
    const bool due = every > 0 && (step + 1) % every == 0;
    if (!setup_.config.checkpoint_dir.empty() && (due || step + 1 == setup_.run.steps))
      save(context, trainer, step + 1);
  }
  const MemoryScope memory(MemoryCategory::kVerify);
  auto weights = fullOnFirst(context, trainer.weights().values());
  if (context.isFirstOfWorld()) outcome.weights = std::move(weights);
  reportUnseenMistakes(context);
}

void SharedProgress::reportUnseenMistakes(RankContext& context) {
  if (!context.switches) return;
  auto unseen = unseenMistakes(context.switches->watchedMistakes(), context.groups.world());
  if (!context.isFirstOfWorld()) return;
  outcome.unseen_mistakes = std::move(unseen);
  if (recorder_ && !outcome.unseen_mistakes.empty())
    recorder_->note(traces::kUnseenMistakesNote, std::to_string(outcome.unseen_mistakes.size()));
}

void SharedProgress::runStep(RankContext& context, RankTrainer& trainer, std::int32_t step) {
  const std::int64_t begin = traces::steadyNow();
  const auto result = trainer.computeGradients(step);
  const std::int64_t computed = traces::steadyNow();
  if (step == 0) keepFirstStep(context, trainer, result);
  if (setup_.run.verify) collect(context, trainer, result, step);
  const std::int64_t resumed = traces::steadyNow();
  const RankTrainer::Clipped clipped = trainer.update(step);
  const std::int64_t updated = traces::steadyNow();
  if (setup_.run.verify) compare(context, trainer, clipped.norm);
  context.observer.sampleMemory({step, Layer::none(), traces::Direction::kBackward, {}});
  auto [peaks, with_verification] = peaksOfAll(context);
  if (!context.isFirstOfWorld()) return;
  StepLog log{step,
              result.loss,
              clipped.norm,
              clipped.coefficient,
              result.targets,
              static_cast<double>(computed - begin + updated - resumed) * 1e-9,
              std::move(peaks),
              std::move(with_verification)};
  outcome.steps.push_back(log);
  if (recorder_) recorder_->note("step." + std::to_string(step), log.toJson().dump());
  if (hooks_.on_step) hooks_.on_step(log);
}

SharedProgress::Peaks SharedProgress::peaksOfAll(RankContext& context) {
  const MemoryScope memory(MemoryCategory::kVerify);
  const WorldRank rank = context.worldRank();
  const std::int64_t ranks = context.groups.world().size();
  at::Tensor peaks = at::zeros({2 * ranks}, at::kLong);
  peaks[rank.value()] = memory_->peak(rank).bytes;
  peaks[ranks + rank.value()] = memory_->peakWithVerification(rank);
  context.groups.world().allReduceSum(peaks, traces::Payload::kScalars);
  const auto* values = peaks.const_data_ptr<std::int64_t>();
  return {{values, values + ranks}, {values + ranks, values + 2 * ranks}};
}

/// Joins the parameter slices of all tp ranks on the first rank; other ranks get nothing.
NamedTensors SharedProgress::fullOnFirst(RankContext& context, const NamedTensors& slices) {
  const MeshPlace here = context.groups.place();
  if (here.dp != GroupRank::of(0) || here.cp != GroupRank::of(0)) return {};
  std::vector<at::Tensor> mine;
  for (const auto& [name, slice] : slices) mine.push_back(slice);
  const auto gathered = gatherToFirst(context.groups.tp(), mine);
  NamedTensors full;
  if (gathered.empty()) return full;
  auto of_ranks = gathered.begin();
  for (const auto& [key, slice] : slices)
    full[key] = LlamaSlices::joined(RankTrainer::parameterFor(key), *of_ranks++, setup_.model);
  return full;
}

void SharedProgress::keepFirstStep(RankContext& context, const RankTrainer& trainer,
                                   const RankTrainer::Result& result) {
  const MemoryScope memory(MemoryCategory::kVerify);
  const auto logits = gatherToFirst(context.groups.world(), result.logits);
  auto gradients = fullOnFirst(context, trainer.gradients());
  if (!context.isFirstOfWorld()) return;
  outcome.logits = fullLogits(context.groups.mesh(), logits);
  outcome.gradients = std::move(gradients);
}

at::Tensor SharedProgress::fullLogits(const Mesh& mesh,
                                      const std::vector<at::Tensor>& of_ranks) const {
  std::vector<at::Tensor> batches;
  const Batch batch = setup_.batches.batch(0);
  const std::int64_t sequences = batch.input_ids.size(0) / mesh.dp;
  for (const GroupRank dp : everyRank(mesh.dp)) {
    std::vector<at::Tensor> vocabulary;
    const std::int64_t first = dp.value() * sequences;
    const BatchLayout layout(setup_.layout, batch.sequences(first, first + sequences));
    for (const GroupRank tp : everyRank(mesh.tp)) {
      std::vector<at::Tensor> shards;
      for (const GroupRank cp : everyRank(mesh.cp))
        shards.push_back(of_ranks[mesh.rankFor({dp, tp, cp}).index()]);
      const bool whole = shards.front().size(1) == batch.input_ids.size(1);
      vocabulary.push_back(whole ? shards.front() : layout.unshard(shards, 1));
    }
    batches.push_back(at::cat(vocabulary, -1));
  }
  return at::cat(batches, 0);
}

/// Saves a checkpoint. One rank per tp place writes its file; the first rank begins and finishes.
void SharedProgress::save(RankContext& context, const RankTrainer& trainer,
                          std::int64_t next_step) {
  const CheckpointInfo info{
      context.groups.mesh(), name(setup_.layout.balance()), next_step, setup_.run.seed, next_step,
      setup_.lasting};
  const MemoryScope memory(MemoryCategory::kVerify);
  const MeshPlace here = context.groups.place();
  const bool first = context.isFirstOfWorld();
  if (first) store_.begin(info);
  context.groups.world().barrier();
  if (here.dp == GroupRank::of(0) && here.cp == GroupRank::of(0))
    store_.saveShard(info, here.tp, trainer.stateToSave());
  context.groups.world().barrier();
  if (first) store_.finish(info);
  context.groups.world().barrier();
}

/// Collects the results of a step from every rank.
void SharedProgress::collect(RankContext& context, RankTrainer& trainer,
                             const RankTrainer::Result& result, std::int32_t step) {
  const traces::Place place{step, Layer::none(), traces::Direction::kBackward, {}};
  const StageScope scope(context.observer, traces::EventKind::kVerify, place);
  const MemoryScope memory(MemoryCategory::kVerify);
  context.arriveAt(place, [this, step] { return verification_.busyBefore(step); });
  auto reports = gatherStep(context.groups, trainer.report(result), setup_.model);
  auto state = fullOnFirst(context, trainer.state());
  if (!context.isFirstOfWorld()) return;
  NamedTensors weights;
  for (const std::string& name : trainer.weights().names())
    weights[name] = state.at("weight." + name);
  collected_ = {step,
                std::move(reports),
                result.loss,
                LlamaWeights::of(trainer.weights().names(), std::move(weights)),
                setup_.batches.batch(step),
                {}};
  collected_.update.before = std::move(state);
  collected_.update.gradients = collected_.ranks.front().gradients.front();
}

/// Adds the result of the update. The first rank then compares while the next step runs.
void SharedProgress::compare(RankContext& context, const RankTrainer& trainer, double norm) {
  const MemoryScope memory(MemoryCategory::kVerify);
  auto state = fullOnFirst(context, trainer.state());
  if (!context.isFirstOfWorld()) return;
  ParameterUpdate& update = collected_.update;
  update.after = std::move(state);
  update.norm = norm;
  update.steps = trainer.updates();
  const AdamW::Options adamw = trainer.optimizerOptions();
  update.rule = {adamw.lr,    adamw.weight_decay, adamw.beta1,
                 adamw.beta2, adamw.eps,          setup_.run.max_norm};
  verification_.submit(std::move(collected_));
}

}  // namespace ringscope::engine
