// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/meant.h"

#include <algorithm>

#include "traces/query/trace.h"
#include "traces/schema/token_runs.h"
#include "viz/scene/band.h"

namespace ringscope::viz {

using traces::MaskKind;
using traces::PositionRule;
using traces::ShardRun;
using traces::TokenRun;

namespace {

/// Rounds down, also below zero.
std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// The part of a run that lies in a document, by the run's own indices.
std::pair<std::int64_t, std::int64_t> within(const ShardRun& run, const TokenRun& document) {
  const std::int64_t first = -floorDiv(run.begin - document.begin, run.stride);
  const std::int64_t end = -floorDiv(run.begin - document.end, run.stride);
  return {std::clamp<std::int64_t>(first, 0, run.count),
          std::clamp<std::int64_t>(end, 0, run.count)};
}

}  // namespace

Meant::Meant(const traces::Trace& trace, std::int32_t train_step,
             const std::vector<WorldRank>& ranks)
    : intent_(ranks.empty() ? nullptr : trace.intent(train_step, ranks.front())) {}

std::optional<double> Meant::pairs(const ShardRun& queries, const ShardRun& keys) const {
  if (!intent_) return std::nullopt;
  // Key j of the run and query i are ahead + stride · (i − j) tokens apart.
  const std::int64_t ahead = queries.begin - keys.begin, stride = queries.stride;
  Band band{0, queries.count, 0, keys.count};
  if (intent_->mask != MaskKind::kFull) band.high = floorDiv(ahead, stride);
  if (intent_->window > 0) band.low = -floorDiv(intent_->window - 1 - ahead, stride);
  if (!keepsDocuments()) return band.pairs();
  double sum = 0;
  const auto& documents = intent_->documents;
  auto document =
      std::ranges::upper_bound(documents, std::max(queries.begin, keys.begin), {}, &TokenRun::end);
  const std::int64_t end = std::min(queries.global(queries.count - 1), keys.global(keys.count - 1));
  for (; document != documents.end() && document->begin <= end; ++document) {
    const auto rows = within(queries, *document), columns = within(keys, *document);
    sum += band.within(rows.first, rows.second, columns.first, columns.second).pairs();
  }
  return sum;
}

bool Meant::keepsDocuments() const {
  return intent_->mask == MaskKind::kDocuments || !intent_->documents.empty();
}

std::string Meant::manner() const {
  if (!intent_) return ", in part";
  std::string words;
  if (keepsDocuments()) words += ", within its documents";
  if (intent_->window > 0) words += ", within a window of " + std::to_string(intent_->window);
  return words.empty() ? ", causally" : words;
}

std::optional<std::int64_t> Meant::positionOf(TokenIndex token) const {
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
  if (!intent_) return "what was meant is not recorded; a run of this engine would show it";
  if (intent_->positions == PositionRule::kUnknown)
    return "from where positions count was not declared";
  if (intent_->positions == PositionRule::kEachDocument && intent_->documents.empty())
    return "where documents begin is not recorded; a run with --mask documents would show it";
  return "";
}

}  // namespace ringscope::viz
