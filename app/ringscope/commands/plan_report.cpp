// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/commands/plan_report.h"

#include <algorithm>

#include "app/command_line/columns.h"
#include "traces/format/core/prose.h"
#include "traces/plan/strategy_choices.h"

namespace ringscope::app {
namespace {

using namespace traces;

/// The documents of all sequences together.
struct Totals {
  std::int64_t documents = 0, tokens = 0, shortest = kMostTokens, longest = 0;
};
Totals count(const DocumentLengths& sequences) {
  Totals totals;
  for (const std::vector<std::int64_t>& lengths : sequences)
    for (const std::int64_t length : lengths) {
      ++totals.documents;
      totals.tokens += length;
      totals.shortest = std::min(totals.shortest, length);
      totals.longest = std::max(totals.longest, length);
    }
  return totals;
}

std::int64_t bytesPerRank(const LayerPrediction& layer) {
  return layer.communication.forward_kv.bytes / layer.run.cp;
}

nlohmann::json toJson(const LayerPrediction& layer) {
  return {
      {"strategy", name(layer.run.strategy)},
      {"layer_ns", layer.layer_ns},
      {"kv_bytes_per_rank", bytesPerRank(layer)},
      {"exposed_ns", static_cast<double>(layer.communication.attention.exposed_ns) / layer.run.cp},
      {"communication", traces::toJson(layer.communication, layer.run.cp)}};
}

nlohmann::json toJson(const ComparedBalance& balance) {
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerPrediction& layer : balance.layers) layers.push_back(toJson(layer));
  nlohmann::json json = {{"balance", balance.choice.title},
                         {"in_ringscope", balance.choice.balance.has_value()},
                         {"block", nullptr},
                         {"imbalance", balance.imbalance()},
                         {"step_imbalance", balance.stepImbalance()},
                         {"pairs",
                          {{"total", balance.pairs.total},
                           {"largest", balance.pairs.largest},
                           {"largest_of_steps", balance.pairs.largest_of_steps}}},
                         {"tokens", balance.tokens},
                         {"padding", balance.padding},
                         {"layers", layers}};
  if (balance.choice.block > 0) json["block"] = balance.choice.block;
  return json;
}

using Row = std::vector<std::string>;

/// Returns "0 %", "1.6 %" or "2,000×".
std::string describePadding(double share) {
  if (share == 0) return "0 %";
  return share < 10 ? describeDifference(share) : describeMultiple(share);
}

Row makeRow(const ComparedBalance& balance, std::int64_t tokens) {
  const double padded = static_cast<double>(balance.padding) / static_cast<double>(tokens);
  Row row = {balance.choice.title,
             describeDecimals(balance.imbalance(), 2),
             describeDecimals(balance.stepImbalance(), 2),
             describeCount(balance.padding),
             describePadding(padded),
             describeBytes(bytesPerRank(balance.layers.front()))};
  for (const LayerPrediction& layer : balance.layers) {
    row.push_back(describeNs(layer.layer_ns));
    row.push_back(describeMeanNs(layer.communication.attention.exposed_ns, layer.run.cp));
  }
  return row;
}

/// Returns the rows with aligned columns: the first to the left, the others to the right.
std::string align(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], countColumns(row[c]));
  std::string text;
  for (const Row& row : rows) {
    text += alignLeft(row.front(), widths.front());
    for (std::size_t c = 1; c < row.size(); ++c) text += "  " + alignRight(row[c], widths[c]);
    text += "\n";
  }
  return text;
}

std::string balanceTable(const PlanAnswer& answer) {
  Row head = {"balance", "imbalance", "ring steps", "padding", "", "KV per rank"};
  for (const LayerPrediction& layer : answer.balances.front().layers) {
    head.push_back(std::string(strategyTitle(layer.run)) + ": layer");
    head.emplace_back("exposed");
  }
  std::vector<Row> rows = {head};
  const std::int64_t tokens = count(answer.sequences).tokens;
  for (const ComparedBalance& balance : answer.balances) rows.push_back(makeRow(balance, tokens));
  return align(rows);
}

std::string describeChoice(const ComparedBalance& balance) {
  return balance.choice.title + " with " + strategyTitle(balance.quickest().run);
}

/// Returns "12 % longer" or "13× as long".
std::string describeLonger(double share) {
  return share < 1 ? describeDifference(share) + " longer"
                   : describeMultiple(1 + share) + " as long";
}

/// Returns "a layer takes 12 % longer with the next, ptrr with ring, and 13× as long with …".
std::string describeRest(const std::vector<ComparedBalance>& all, const Quickest& quickest) {
  const ComparedBalance& next = all[*quickest.next];
  std::string text =
      "a layer takes " + describeLonger(quickest.ahead) + " with the next, " + describeChoice(next);
  if (&next == &all.back()) return text;
  const double share = all.back().quickest().layer_ns / all.front().quickest().layer_ns - 1;
  return text + ", and " + describeLonger(share) + " with " + describeChoice(all.back());
}

/// Returns "striped shares the pairs most evenly (imbalance 1.00)", for one of `tied`.
std::string describeMostEven(const std::vector<ComparedBalance>& all,
                             const std::vector<std::size_t>& tied) {
  const std::size_t even =
      *std::ranges::min_element(tied, {}, [&](std::size_t i) { return all[i].imbalance(); });
  return all[even].choice.title + " shares the pairs most evenly (imbalance " +
         describeDecimals(all[even].imbalance(), 2) + ")";
}

std::string bestSentence(const std::vector<ComparedBalance>& all) {
  const Quickest quickest = quickestBalances(all);
  const std::string best = "By the model " + describeChoice(all.front()) + " is the best here";
  const std::string rest = quickest.next ? "; " + describeRest(all, quickest) : "";
  if (quickest.tied.size() == 1) return best + rest + ".\n";
  std::string titles;
  for (std::size_t i = 1; i < quickest.tied.size(); ++i)
    titles += (i == 1                          ? ""
               : i + 1 == quickest.tied.size() ? " and "
                                               : ", ") +
              all[quickest.tied[i]].choice.title;
  return best + ", but it cannot be told apart from " + titles + ", whose layers take up to " +
         describeDifference(quickest.spread) + " longer (the model can tell " +
         describeDifference(kPrintedPrecision) + "); of these " +
         describeMostEven(all, quickest.tied) + rest + ".\n";
}

std::string describeDocuments(const PlanAnswer& answer) {
  const Totals totals = count(answer.sequences);
  std::string text =
      describeCount(totals.documents, "document") + " of " + describeCount(totals.shortest);
  if (totals.longest > totals.shortest) text += " to " + describeCount(totals.longest);
  text += " tokens, " + describeCount(totals.tokens, "token") + " in " +
          describeCount(std::ssize(answer.sequences), "packed sequence");
  return text + ", cp " + std::to_string(answer.run.cp);
}

}  // namespace

std::vector<std::string> PlanAnswer::assumed() const {
  std::vector<std::string> all = {
      "mask: causal within each document; padding attends nothing, but projections and the MLP "
      "compute it",
      "layer: " + sizes.name + ", hidden size " + describeCount(sizes.hidden_size) + ", " +
          describeCount(sizes.heads, "query head") + " and " +
          describeCount(sizes.kv_heads, "KV head") + " of size " + std::to_string(sizes.head_dim) +
          ", MLP " + describeCount(sizes.intermediate_size) + ", " + name(run.dtype) +
          (run.fp8 ? ", KV as FP8" : "") +
          "; forward and backward of one layer, one sequence at a "
          "time"};
  for (const ComparedBalance& balance : balances)
    if (!balance.choice.balance)
      all.push_back(balance.choice.title + ": blocks of " +
                    describeCount(balance.choice.block, "token") +
                    ", dealt by other libraries and not by `ringscope train`");
  const std::vector<std::string> of_layer = assumptions.layerSentences();
  all.insert(all.end(), of_layer.begin(), of_layer.end());
  return all;
}

nlohmann::json toJson(const PlanAnswer& answer) {
  const Totals totals = count(answer.sequences);
  nlohmann::json balances = nlohmann::json::array(), best = nlohmann::json::array();
  for (const ComparedBalance& balance : answer.balances) balances.push_back(toJson(balance));
  const Quickest quickest = quickestBalances(answer.balances);
  for (const std::size_t i : quickest.tied) best.push_back(answer.balances[i].choice.title);
  return {{"kind", kModelLabel},
          {"assumptions", answer.assumed()},
          {"hardware", traces::toJson(answer.assumptions.hardware)},
          {"cp", answer.run.cp},
          {"sequences", answer.sequences.size()},
          {"documents", totals.documents},
          {"tokens", totals.tokens},
          {"balances", balances},
          {"best",
           {{"balances", best},
            {"strategy", name(answer.balances.front().quickest().run.strategy)},
            {"spread", quickest.spread},
            {"uncertainty", kPrintedPrecision}}}};
}

std::string toText(const PlanAnswer& answer) {
  std::string text =
      "Model, not a measurement: " + describeDocuments(answer) + "\n\n" + balanceTable(answer) +
      "\n" + bestSentence(answer.balances) +
      "\nThe columns:\n"
      "  imbalance: attended pairs of the rank with the most ÷ the mean of the ranks\n"
      "  ring steps: the same when ranks wait for each other at each ring step\n"
      "  padding: padding tokens, and their share of the documents' tokens\n"
      "  KV per rank: bytes that a rank sends in forward, by a ring or all_gather, over all "
      "sequences\n"
      "  exposed: time of the layer during which a rank waits for attention's "
      "messages, mean of the ranks\n"
      "\nAssumed:\n";
  for (const std::string& sentence : answer.assumed()) text += "  " + sentence + "\n";
  return text;
}

}  // namespace ringscope::app
