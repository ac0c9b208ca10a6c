// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/fitted_attention.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "traces/analysis/verify/recompute/block_sinks.h"
#include "traces/analysis/verify/recompute/head_agreement.h"
#include "traces/analysis/verify/recompute/own_keys.h"
#include "traces/analysis/verify/recompute/position_documents.h"
#include "traces/analysis/verify/recompute/row_keys.h"
#include "traces/analysis/verify/recompute/score_fit.h"
#include "traces/analysis/verify/recompute/selection.h"
#include "traces/analysis/verify/recompute/unstated_mask.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/recorder_request.h"

namespace ringscope::traces {
namespace {

/// The share of all rows that must agree with a statement to show that it was meant. The first is
/// for an output that is wrong in other rows, the second for gradients.
constexpr double kShowsOutput = 0.05, kShowsGradients = 0.5;

/// Search for the attention with which a layer's recorded out agrees.
class Fitter {
 public:
  Fitter(const Trace& trace, const LayerTensors& layer, const Selection& selection,
         const AttentionMask& mask, const std::vector<TensorCheck>& stated)
      : trace_(trace), layer_(layer), selection_(selection), mask_(mask), stated_(stated) {}

  /// Finds the meant part that the attention lacks, where everything that was meant is stated.
  FittedAttention findMissing() const {
    const auto dropped =
        outIsWrong() ? findDropped(trace_, layer_, selection_, mask_) : std::nullopt;
    return dropped ? lacking(*dropped) : as(AttentionFits::kStated, layer_, mask_, "");
  }

  /// Returns the stated attention, if somebody states it.
  FittedAttention withoutOut() const {
    if (statedScores(trace_, layer_.pass.layer, layer_.head_dim).by != StatedBy::kNobody)
      return as(AttentionFits::kStated, layer_, mask_, "");
    return as(AttentionFits::kNothing, layer_, mask_,
              "out is not recorded, and nothing recorded states what was meant");
  }

  FittedAttention find() const {
    FittedAttention found = as(AttentionFits::kStated, layer_, mask_, "");
    const bool right = worstRatio(stated_) <= 1;
    if (right)
      if (const auto dropped = missingWindow()) return lacking(*dropped);
    const PositionDocuments shown =
        mask_.by_document ? PositionDocuments() : documentsByPositions(trace_, layer_);
    const std::vector<TokenRun>& documents = shown.documents;
    if (right && !shown.within_shard) return found;
    AttentionMask by_document = mask_;
    by_document.by_document = true;
    by_document.documents = documents;
    if (right) return acrossDocuments(found, by_document);
    if (!outIsWrong()) return isEstablished(kShowsGradients) ? found : unknown();
    if (!documents.empty() && agrees(layer_, by_document))
      return as(AttentionFits::kOther, layer_, by_document,
                "the recorded output agrees with attention within the " +
                    describeCount(std::ssize(documents), "document") +
                    " that the position ids show");
    const auto masks = documents.empty() ? std::vector{mask_} : std::vector{mask_, by_document};
    for (const AttentionMask& mask : masks)
      if (auto unstated = findUnstatedMask(trace_, layer_, selection_, mask))
        return withMask(*unstated);
    for (const AttentionMask& mask : masks)
      if (auto fitted = withOtherScores(mask)) return *fitted;
    if (auto other = withOtherMask()) return *other;
    if (auto keys = withOtherKeys()) return *keys;
    return !shown.entries_differ && !haveSomeHeadsSinks() && isEstablished(kShowsOutput)
               ? found
               : unknown();
  }

 private:
  static FittedAttention as(AttentionFits is, const LayerTensors& layer, const AttentionMask& mask,
                            std::string words) {
    return {is, layer, mask, {}, std::move(words)};
  }

  FittedAttention unknown() const {
    const auto own = outIsWrong() ? fitOwnKeys(trace_, layer_, selection_, mask_) : std::nullopt;
    if (own) return as(AttentionFits::kOther, own->layer, mask_, own->words);
    return as(AttentionFits::kNothing, layer_, mask_,
              outIsWrong()
                  ? "the recorded output does not equal attention of the recorded q, k and v with "
                    "any mask, scale, softcap or sinks that RingScope tries, and nothing recorded "
                    "states what was meant"
                  : "the recorded output agrees with several scales within rounding, and nothing "
                    "recorded states which was meant");
  }

  /// Reports whether a layer with sinks has heads of which no row agrees with them: these heads may
  /// be meant to have none, and a mask of their own.
  bool haveSomeHeadsSinks() const {
    const auto out = std::ranges::find(stated_, TensorKind::kOut, &TensorCheck::kind);
    return layer_.sinks && !agreesInEachHead(layer_, selection_, mask_, *out);
  }

  bool outIsWrong() const {
    return std::ranges::any_of(stated_, [](const TensorCheck& tensor) {
      return tensor.kind == TensorKind::kOut && tensor.worst.ratio() > 1;
    });
  }

  TensorCheck compared(const LayerTensors& layer, const AttentionMask& mask) const {
    return comparedOut(trace_, layer, selection_, mask);
  }
  bool agrees(const LayerTensors& layer, const AttentionMask& mask) const {
    return compared(layer, mask).worst.ratio() <= 1;
  }

  FittedAttention acrossDocuments(FittedAttention found, const AttentionMask& by_document) const {
    if (agrees(layer_, by_document)) return found;
    found.is = AttentionFits::kDocuments;
    found.words = "position ids start again at " +
                  describeCount(std::ssize(by_document.documents) - 1, "border") +
                  " of documents, first at token " +
                  std::to_string(by_document.documents.at(1).begin) +
                  ", and the recorded output agrees with attention across them";
    return found;
  }

  FittedAttention lacking(const DroppedAttention& dropped) const {
    return {AttentionFits::kUnmeant,
            layer_,
            mask_,
            {},
            "the recorded output agrees with " + dropped.words,
            dropped.part};
  }

  /// Finds out that the attention of all earlier keys is right although a module states a window.
  std::optional<DroppedAttention> missingWindow() const {
    const std::int64_t window = statedScores(trace_, layer_.pass.layer, layer_.head_dim).window;
    const bool has_out = std::ranges::count(stated_, TensorKind::kOut, &TensorCheck::kind) > 0;
    if (window <= 0 || !has_out || !mask_.causal || mask_.window > 0 || mask_.by_document)
      return std::nullopt;
    AttentionMask with_window = mask_;
    with_window.window = window;
    if (agrees(layer_, with_window)) return std::nullopt;
    return DroppedAttention{DroppedPart::kWindow,
                            "attention of all earlier keys; the model states a window of " +
                                describeCount(window, "key")};
  }

  /// Fits some parts, and keeps them if the output agrees with them.
  std::optional<FittedAttention> withFitted(const AttentionMask& mask,
                                            const FittedParts& parts) const {
    if (parts.sinks && layer_.sinks) return std::nullopt;
    const auto fit = fitScores(trace_, layer_, selection_, mask, parts);
    if (!fit) return std::nullopt;
    LayerTensors other = layer_;
    other.scores = fit->scores;
    other.fitted_sinks = fit->sinks;
    return agrees(other, mask) ? std::optional(judged(other, mask, parts)) : std::nullopt;
  }

  std::optional<FittedAttention> withOtherScores(const AttentionMask& mask) const {
    constexpr FittedParts kScale = {true, false, false};
    // In 16 bits a part that is missing with a guessed scale can resemble another scale.
    if (statedScores(trace_, layer_.pass.layer, layer_.head_dim).by == StatedBy::kNobody)
      if (auto fitted = withFitted(mask, kScale)) return fitted;
    if (const auto dropped = findDropped(trace_, layer_, selection_, mask))
      return lacking(*dropped);
    constexpr FittedParts kTried[] = {kScale,
                                      {false, false, true},
                                      {false, true, false},
                                      {true, false, true},
                                      {true, true, false},
                                      {false, true, true},
                                      {true, true, true}};
    for (const FittedParts& parts : kTried)
      if (auto fitted = withFitted(mask, parts)) return fitted;
    if (const auto words = findBlockSinks(trace_, layer_, selection_, mask))
      return lacking({DroppedPart::kOneSink, *words});
    return std::nullopt;
  }

  FittedAttention judged(const LayerTensors& other, const AttentionMask& mask,
                         const FittedParts& parts) const {
    const StatedBy by = statedScores(trace_, layer_.pass.layer, layer_.head_dim).by;
    const auto number = [](double value) { return describeSignificant(value, 4); };
    std::string words = "the recorded output agrees with " + describeScores(other.scores, parts);
    if (parts.sinks)
      words += (parts.scale ? " and with" : "attention with") + std::string(" sinks (") +
               number(other.fitted_sinks.front()) + " in head 0)";
    // A statement of the scale says nothing about a softcap.
    const bool unmeant =
        by != StatedBy::kNobody && (parts.scale || (parts.softcap && layer_.scores.softcap > 0));
    words += unmeant ? "; " + std::string(describe(by)) + " states the scale " +
                           number(layer_.scores.scale) +
                           (layer_.scores.softcap > 0
                                ? " and the softcap " + number(layer_.scores.softcap)
                                : "")
                     : ", which nothing recorded states (1 / √d is " +
                           number(1 / std::sqrt(static_cast<double>(layer_.head_dim))) + ")";
    return unmeant ? as(AttentionFits::kUnmeant, layer_, mask_, words)
                   : as(AttentionFits::kOther, other, mask, words);
  }

  FittedAttention withMask(const UnstatedMask& unstated) const {
    return {unstated.is_prefix ? AttentionFits::kNothing : AttentionFits::kOther, layer_,
            unstated.mask, unstated.narrower, unstated.words};
  }

  /// Tries keys of each row by themselves. Attention that was recognised may have any mask.
  std::optional<FittedAttention> withOtherKeys() const {
    if (!hasRecognisedAttention(trace_)) return std::nullopt;
    const auto out = std::ranges::find(stated_, TensorKind::kOut, &TensorCheck::kind);
    const auto words = findOtherKeys(trace_, layer_, selection_, *out);
    return words ? std::optional(as(AttentionFits::kNothing, layer_, mask_, *words)) : std::nullopt;
  }

  /// Tries attention of all keys, and of all earlier keys.
  std::optional<FittedAttention> withOtherMask() const {
    for (const bool causal : {false, true}) {
      const AttentionMask other{causal, 0, false, {}};
      if ((mask_.causal == causal && mask_.window == 0 && !mask_.by_document) ||
          !agrees(layer_, other))
        continue;
      return as(AttentionFits::kUnmeant, layer_, mask_,
                std::string("the recorded output agrees with attention of all ") +
                    (causal ? "earlier keys" : "keys") + ", which is not the mask that was meant");
    }
    return std::nullopt;
  }

  /// Reports whether what is stated is known to be meant: by a call or a model, or by rows with at
  /// least two keys that agree with it. A row does not count when it would also agree with one and
  /// a half times the scale or its inverse, as rows of small scores do in 16 bits.
  bool isEstablished(double share) const {
    const auto out = std::ranges::find(stated_, TensorKind::kOut, &TensorCheck::kind);
    if (statedScores(trace_, layer_.pass.layer, layer_.head_dim).by != StatedBy::kNobody)
      return out == stated_.end() || isMaskKnown(*out);
    LayerTensors larger = layer_, smaller = layer_;
    larger.scores.scale *= 1.5;
    smaller.scores.scale /= 1.5;
    const TensorCheck with_larger = compared(larger, mask_),
                      with_smaller = compared(smaller, mask_);
    std::size_t right = 0, all = 0;
    for (std::size_t row = 0; row < out->ratios.size(); ++row) {
      const std::size_t token = tokenIndex(selection_, row);
      const TokenRun keys = mask_.keysFor(layer_.tokens[token]);
      if (keys.end - keys.begin < 2 || std::isnan(out->ratios[row])) continue;
      ++all;
      const bool shows = with_larger.ratios[row] > 1 && with_smaller.ratios[row] > 1;
      right += shows && out->ratios[row] <= 1 ? 1 : 0;
    }
    return static_cast<double>(right) >= share * static_cast<double>(all) && isMaskKnown(*out);
  }

  /// Reports whether the stated mask is known to be meant. Rows that agree with it do not show that
  /// if the job makes a mask of any form: all rows of one rank must agree, save for a prefix.
  bool isMaskKnown(const TensorCheck& out) const {
    const auto request = recorderRequest(trace_);
    if (!request || !request->own_mask) return true;
    std::map<WorldRank, std::int64_t> last_wrong;  // −1: none
    for (std::size_t row = 0; row < out.ratios.size(); ++row) {
      const std::size_t token = tokenIndex(selection_, row);
      std::int64_t& last = last_wrong.try_emplace(layer_.owners[token], -1).first->second;
      if (!(out.ratios[row] <= 1)) last = std::max(last, layer_.tokens[token].value());
    }
    return std::ranges::any_of(last_wrong, [&](const auto& rank) {
      const auto agrees_to = [&](std::int64_t token) {
        return agreesWithPrefix(trace_, layer_, selection_, token);
      };
      return rank.second < 0 || agrees_to(rank.second + 1) || agrees_to(rank.second + 2);
    });
  }

  const Trace& trace_;
  const LayerTensors& layer_;
  const Selection& selection_;
  const AttentionMask& mask_;
  const std::vector<TensorCheck>& stated_;
};

}  // namespace

FittedAttention fitAttention(const Trace& trace, const LayerTensors& layer,
                             const Selection& selection, const AttentionMask& mask,
                             const std::vector<TensorCheck>& stated) {
  const Fitter fitter(trace, layer, selection, mask, stated);
  // Runs of the engine declare all that was meant.
  const bool is_declared = !trace.run() || trace.run()->command != Command::kImport;
  if (is_declared) return fitter.findMissing();
  const bool has_out = std::ranges::count(stated, TensorKind::kOut, &TensorCheck::kind) > 0;
  return has_out ? fitter.find() : fitter.withoutOut();
}

}  // namespace ringscope::traces
