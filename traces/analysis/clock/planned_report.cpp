// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/analysis/clock/report.h"
#include "traces/format/core/prose.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

nlohmann::json toJson(const Prediction& prediction) {
  return {{"title", prediction.title},
          {"strategy", name(prediction.run.strategy)},
          {"rotate", name(prediction.run.rotate)},
          {"seq_len", prediction.run.seq_len},
          {"step_ns", prediction.step_ns},
          {"exposed_share", prediction.exposedShare()},
          {"spread", prediction.spread ? nlohmann::json(*prediction.spread) : nlohmann::json()},
          {"limits", toJson(prediction.limits)},
          {"communication", toJson(prediction.communication, prediction.ranks)}};
}

nlohmann::json toJson(const std::vector<Prediction>& predictions) {
  nlohmann::json json = nlohmann::json::array();
  for (const Prediction& prediction : predictions) json.push_back(toJson(prediction));
  return json;
}

nlohmann::json toJson(const LengthSweep& sweep) {
  nlohmann::json lengths = nlohmann::json::array();
  for (std::size_t i = 0; i < sweep.lengths.size(); ++i)
    lengths.push_back({{"seq_len", sweep.lengths[i]}, {"strategies", toJson(sweep.at[i])}});
  nlohmann::json json = {{"lengths", lengths},
                         {"ring_has_hops", sweep.ring_has_hops},
                         {"ring_hides_forward_at", nullptr}};
  if (sweep.ring_hides_forward_at) json["ring_hides_forward_at"] = *sweep.ring_hides_forward_at;
  return json;
}

std::string padded(const std::string& text, std::size_t width) {
  const auto columns = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
  return text + std::string(width - std::min(width, columns), ' ');
}

std::string strategyRow(const Prediction& p) {
  return padded(p.title, 26) + padded(describeNs(p.step_ns), 12) +
         padded(describeMeanNs(p.communication.attention.exposed_ns, p.ranks), 12) +
         padded(describeShare(p.exposedShare()), 8) +
         padded(describeMeanNs(p.communication.attention.hidden_ns, p.ranks), 12) +
         padded(describeBytes(p.communication.attention.bytes / std::max(1, p.ranks)), 20) +
         limitTitle(p.limits);
}

std::string joinTitles(const std::vector<Prediction>& all, const std::vector<std::size_t>& which) {
  std::string titles;
  for (const std::size_t i : which) titles += (titles.empty() ? "" : "; ") + all[i].title;
  return titles;
}

std::string quickestText(const std::vector<Prediction>& all, double uncertainty) {
  const Quickest quickest = quickestStrategies(all, uncertainty);
  const std::string titles = joinTitles(all, quickest.tied);
  const std::string differ = "steps that differ by " + describeDifference(quickest.spread) +
                             " (it can tell " + describeDifference(uncertainty) + ")";
  if (quickest.tied.size() > 1)
    return (quickest.tied.size() == all.size()
                ? "The model cannot tell these strategies apart here: "
                : "By the model these are the quickest here, and it cannot tell them apart: ") +
           titles + " have " + differ + ".\n";
  return "By the model " + titles + " would be the quickest here; the next, " +
         all[*quickest.next].title + ", takes " + describeDifference(quickest.ahead) + " longer.\n";
}

nlohmann::json quickestJson(const std::vector<Prediction>& all, double uncertainty) {
  if (all.size() < 2) return {};
  const Quickest quickest = quickestStrategies(all, uncertainty);
  nlohmann::json titles = nlohmann::json::array();
  for (const std::size_t i : quickest.tied) titles.push_back(all[i].title);
  return {{"titles", titles}, {"spread", quickest.spread}, {"uncertainty", uncertainty}};
}

std::string strategiesText(const PlannedAnswer& answer) {
  std::string text = "\nMeans over the ranks that share a sequence:\n" + padded("strategy", 26) +
                     padded("step", 12) + padded("exposed", 12) + padded("of step", 8) +
                     padded("hidden", 12) + padded("received", 20) + "determined by\n";
  for (const Prediction& p : answer.strategies) text += strategyRow(p) + "\n";
  return text + quickestText(answer.strategies, answer.uncertainty());
}

/// Collects the strategies of all lengths. Some cannot run at each length.
std::vector<std::string> collectTitles(const LengthSweep& sweep) {
  std::vector<std::string> titles;
  for (const auto& strategies : sweep.at)
    for (const Prediction& p : strategies)
      if (std::ranges::find(titles, p.title) == titles.end()) titles.push_back(p.title);
  return titles;
}

std::string sweepText(const LengthSweep& sweep) {
  std::string text = "\nexposed share of the step, by length\n" + padded("length", 12);
  const std::vector<std::string> titles = collectTitles(sweep);
  for (const std::string& title : titles) text += padded(title, 26);
  text += "\n";
  for (std::size_t i = 0; i < sweep.lengths.size(); ++i) {
    text += padded(describeCount(sweep.lengths[i]), 12);
    for (const std::string& title : titles) {
      const auto same = std::ranges::find(sweep.at[i], title, &Prediction::title);
      text += padded(same == sweep.at[i].end() ? "–" : describeShare(same->exposedShare()), 26);
    }
    text += "\n";
  }
  if (!sweep.ring_has_hops)
    return text +
           "No ring has forward hops that take time here, so there are none for it to hide.\n";
  if (sweep.ring_hides_forward_at)
    return text + "By the model a ring hides its forward hops from a length of " +
           describeCount(*sweep.ring_hides_forward_at) + " on, up to " +
           describeCount(sweep.lengths.back()) + ".\n";
  return text + "By the model a ring does not hide its forward hops at " +
         (std::ranges::any_of(sweep.at, ringHidesForward)
              ? "the longest of these lengths, though at some shorter ones.\n"
              : "any of these lengths.\n");
}

std::string calibrationSentence(const Calibration& c) {
  return "device: each kind of stage takes what it took in " +
         describeCount(c.recordings, "recording") +
         ", fitted by fixed time + time per byte + time per multiply-add";
}

/// Returns " (±20 %, from the spread of the recorded stages)" for a calibrated prediction.
std::string spreadNote(const PlannedAnswer& answer) {
  if (!answer.assumptions.calibration) return "";
  if (!answer.asked.spread)
    return " (with an unknown spread; name more recordings to calibrate by)";
  return " (±" + describeShare(*answer.asked.spread) + ", from the spread of the recorded stages)";
}

std::string deviceSentence(const ModelAssumptions& a) {
  const auto tera = [](double flops) { return describeSignificant(flops / 1e12, 3) + " TFLOP/s"; };
  return "device: " + a.device.name + " at " + describeEfficiency(a.efficiency) +
         " of its peak rates: " + tera(a.device.matmul_flops) + " in matrix products, " +
         tera(a.device.attention_flops) + " in attention, " +
         describeDecimals(a.device.memory_bytes / 1e9, 0) + " GB/s of memory";
}

}  // namespace

std::vector<std::string> ModelAssumptions::sentences() const {
  std::vector<std::string> all = layerSentences();
  all.insert(all.begin() + 3,
             "the gradient sync is one fp32 all-reduce after backward that hides nothing");
  return all;
}

std::vector<std::string> ModelAssumptions::layerSentences() const {
  std::vector<std::string> all = {
      "link: " + describe(hardware.link), describeOverlap(hardware),
      calibration ? calibrationSentence(*calibration) : deviceSentence(*this)};
  if (calibration && calibration->link == hardware.link)
    all.emplace_back(
        "a hop takes what ranks waited for it, which is less than it takes where messages moved "
        "while ranks computed");
  if (!calibration)
    all.emplace_back(
        "attention in backward is 2.5 times forward; norms, rotary and AdamW count by their memory "
        "traffic");
  if (!calibration || hardware.floors != Floors{}) all.push_back(describe(hardware.floors));
  if (hardware.tp_link) all.push_back("tensor parallelism: " + describe(*hardware.tp_link));
  if (hardware.compute_scale != 1)
    all.push_back("compute " + describeMultiple(hardware.compute_scale) + " as quick");
  return all;
}

double PlannedAnswer::uncertainty() const {
  return assumptions.calibration ? std::max(kPrintedPrecision, asked.spread.value_or(1))
                                 : kPrintedPrecision;
}

nlohmann::json toJson(const PlannedAnswer& answer) {
  return {{"kind", kModelLabel},
          {"assumptions", answer.assumptions.sentences()},
          {"hardware", toJson(answer.assumptions.hardware)},
          {"run", toJson(answer.asked.run)},
          {"parameters", answer.sizes.parameters()},
          {"asked", toJson(answer.asked)},
          {"strategies", toJson(answer.strategies)},
          {"quickest", quickestJson(answer.strategies, answer.uncertainty())},
          {"sweep", answer.sweep ? toJson(*answer.sweep) : nlohmann::json()}};
}

std::string toText(const PlannedAnswer& answer) {
  const Prediction& asked = answer.asked;
  const RunSpec& run = asked.run;
  const CommunicationFigures& figures = asked.communication;
  const auto mean = [&](std::int64_t ns) { return describeMeanNs(ns, asked.ranks); };
  std::string text = std::string("Model, not a measurement: ") + answer.sizes.name + ", " +
                     describeCount(answer.sizes.parameters(), "parameter") + ", " +
                     describeCount(run.seq_len) + " tokens, batch " + std::to_string(run.batch) +
                     ", dp " + std::to_string(run.dp) + ", tp " + std::to_string(run.tp) + ", cp " +
                     std::to_string(run.cp) + ", " + asked.title + ", " + name(chosenBalance(run)) +
                     ", " + name(run.mask) + "\n";
  text += "A training step takes " + describeNs(asked.step_ns) + spreadNote(answer) +
          ". Of it a rank stands still on average for " + mean(figures.attention.exposed_ns) +
          " (" + describeShare(asked.exposedShare()) +
          ") because of attention's messages: " + mean(figures.forward.exposed_ns) +
          " in forward, " + mean(figures.backward.exposed_ns) + " in backward";
  if (figures.last_hop_home.exposed_ns > 0)
    text += ", of that " + mean(figures.last_hop_home.exposed_ns) +
            " for dK and dV whose last hop has nothing to hide under";
  text += ".\n" + mean(figures.attention.hidden_ns) + " of messages are hidden; " +
          mean(figures.attention.late_ns) + " of the exposed time a peer was late; gradients and " +
          "other collectives take " + mean(figures.other.exposed_ns) + ".\n" +
          describe(asked.limits) + "\n";
  if (answer.strategies.size() > 1) text += strategiesText(answer);
  if (answer.sweep) text += sweepText(*answer.sweep);
  text += "\nAssumed:\n";
  for (const std::string& sentence : answer.assumptions.sentences()) text += "  " + sentence + "\n";
  return text;
}

}  // namespace ringscope::traces
