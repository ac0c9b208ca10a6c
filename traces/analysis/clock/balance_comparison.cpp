// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/balance_comparison.h"

#include <algorithm>

#include "traces/plan/strategy.h"
#include "traces/plan/strategy_choices.h"

namespace ringscope::traces {
namespace {

/// Returns the run as a plain ring and with KV gathered at once.
std::vector<RunSpec> compareStrategies(const RunSpec& run) {
  std::vector<RunSpec> compared;
  for (const RunSpec& choice : strategyChoices(run))
    if (isPlainRing(choice) || sharing(choice.strategy) == Sharing::kGathersBlocks)
      compared.push_back(choice);
  return compared;
}

void add(PairShares& sum, const PairShares& shares) {
  sum.total += shares.total;
  sum.largest += shares.largest;
  sum.largest_of_steps += shares.largest_of_steps;
}

/// Returns a ÷ b, or 1 when nothing is shared.
double ratio(double a, double b) {
  return b > 0 ? a / b : 1;
}

}  // namespace

double ComparedBalance::imbalance() const {
  return ratio(static_cast<double>(pairs.largest) * layers.front().run.cp,
               static_cast<double>(pairs.total));
}

double ComparedBalance::stepImbalance() const {
  return ratio(static_cast<double>(pairs.largest_of_steps) * layers.front().run.cp,
               static_cast<double>(pairs.total));
}

const LayerPrediction& ComparedBalance::quickest() const {
  return *std::ranges::min_element(layers, {}, &LayerPrediction::layer_ns);
}

std::vector<ComparedBalance> compareBalances(
    const std::vector<BalanceChoice>& choices,
    const std::vector<std::vector<std::int64_t>>& sequences, const RunSpec& run,
    const ModelSizes& sizes, const DeviceSpeed& device, const Hardware& hardware) {
  std::vector<ComparedBalance> all;
  for (const BalanceChoice& choice : choices) {
    ComparedBalance& balance = all.emplace_back();
    balance.choice = choice;
    for (const RunSpec& strategy : compareStrategies(run)) balance.layers.push_back({strategy});
    for (const std::vector<std::int64_t>& lengths : sequences) {
      const DealtWork work = dealtWork(choice, lengths, run.cp);
      balance.tokens += work.length;
      balance.padding += work.padding;
      add(balance.pairs, pairShares(work.pairs));
      for (LayerPrediction& layer : balance.layers) {
        RunSpec dealt = layer.run;
        dealt.seq_len = work.length;
        const Program program = plannedLayer(dealt, sizes, device, work.pairs);
        const ModelTimeline timeline = replay(program, hardware);
        layer.layer_ns += timeline.stepNs();
        layer.communication += sumCommunication(program, timeline);
      }
    }
  }
  std::ranges::stable_sort(
      all, {}, [](const ComparedBalance& balance) { return balance.quickest().layer_ns; });
  return all;
}

Quickest quickestBalances(const std::vector<ComparedBalance>& all) {
  std::vector<Prediction> layers;
  layers.reserve(all.size());
  for (const ComparedBalance& balance : all)
    layers.push_back({balance.quickest().run,
                      balance.choice.title,
                      balance.quickest().run.cp,
                      balance.quickest().layer_ns,
                      balance.quickest().communication,
                      {}});
  return quickestStrategies(layers, kPrintedPrecision);
}

}  // namespace ringscope::traces
