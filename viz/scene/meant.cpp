// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/meant.h"

#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

using traces::PositionRule;
using traces::ShardRun;
using traces::TokenRun;

Meant::Meant(const traces::Trace& trace, std::int32_t train_step,
             const std::vector<WorldRank>& ranks, Layer layer)
    : intent_(ranks.empty() ? nullptr : trace.intent(train_step, ranks.front(), layer)),
      advice_(traces::maskAdvice(trace)),
      documents_advice_(traces::isForeign(trace) ||
                                (intent_ && intent_->mask == traces::MaskKind::kDocuments)
                            ? ""
                            : "; a run with --mask documents would show it") {
  if (intent_) mask_ = traces::AttentionMask::of(*intent_);
}

std::optional<double> Meant::pairs(const ShardRun& queries, const ShardRun& keys) const {
  if (!intent_) return std::nullopt;
  return mask_.pairs(queries, keys, {0, queries.count, 0, keys.count});
}

std::string Meant::manner() const {
  if (!intent_) return ", in part";
  std::string words;
  if (mask_.by_document) words += ", within its documents";
  if (intent_->window > 0) words += ", within a window of " + std::to_string(intent_->window);
  return words.empty() ? ", causally" : words;
}

std::optional<std::int64_t> Meant::tokenPosition(TokenIndex token) const {
  if (!positionsMissing().empty()) return std::nullopt;
  if (intent_->positions == PositionRule::kWholeSequence) return token.value();
  const TokenRun* document =
      traces::runWith(intent_->documents, token);  // null: padding, whose position is nobody's
  return document ? std::optional(token.value() - document->begin) : std::nullopt;
}

bool Meant::documentBeginsAt(TokenIndex token) const {
  if (!intent_ || token.value() == 0) return false;
  const TokenRun* document = traces::runWith(intent_->documents, token);
  return document && document->begin == token.value();
}

std::string Meant::positionsMissing() const {
  if (!intent_) return "what was meant is not recorded; " + advice_;
  if (intent_->positions == PositionRule::kUnknown)
    return "from where positions count was not declared";
  if (intent_->positions == PositionRule::kEachDocument && intent_->documents.empty())
    return "where documents begin is not recorded" + documents_advice_;
  return "";
}

}  // namespace ringscope::viz
