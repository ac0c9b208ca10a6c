// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/tokens/tokens_scene.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/meant.h"
#include "viz/scene/token_rows.h"
#include "viz/views/positions/token_table_scene.h"

namespace ringscope::viz {
namespace {

/// Longer sequences are shown without owners and borders.
constexpr std::int64_t kMostOwnedTokens = std::int64_t{1} << 22;

/// Returns the first sequence of each batch: the smallest sequence of the losses.
std::int64_t firstSequence(const traces::TokenLosses& losses) {
  return losses.tokens.empty() ? 0 : losses.tokens.front().sequence;
}

void addTokenPoints(TokensScene& scene, const traces::TokenLosses& losses,
                    const OtherLosses& other) {
  const std::int64_t first = firstSequence(losses);
  const std::int64_t wanted =
      other.same_sequences ? first + scene.sequence : firstSequence(other.losses) + scene.sequence;
  std::map<TokenIndex, double> others;
  for (const traces::TokenLoss& loss : other.losses.tokens)
    if (loss.sequence == wanted && loss.token.exists()) others.try_emplace(loss.token, loss.loss);
  for (const traces::TokenLoss& loss : losses.tokens) {
    if (loss.sequence != first + scene.sequence || loss.token.isNone()) continue;
    TokenPoint point{loss.token, loss.rank, loss.label, loss.loss, loss.log_probability, {}};
    if (const auto found = others.find(loss.token); found != others.end())
      point.other = found->second;
    scene.points.push_back(point);
  }
}

void addTokenOwners(const traces::Trace& trace, const Cursor& cursor, TokensScene& scene) {
  const auto ranks = groupRanks(trace, cursor.group);
  const Meant meant(trace, cursor.place.train_step, ranks);
  std::vector<WorldRank> owner;
  std::set<std::int64_t> begins;
  for (const WorldRank rank : ranks)
    for (const auto& run : ownTokenRuns(trace, cursor.place.train_step, rank)) {
      if (run.begin < 0 || run.count <= 0 || run.global(run.count - 1) >= kMostOwnedTokens)
        continue;
      owner.resize(std::max(owner.size(), static_cast<std::size_t>(run.global(run.count - 1)) + 1));
      for (std::int64_t i = 0; i < run.count; ++i)
        owner[static_cast<std::size_t>(run.global(i))] = rank;
      if (run.stride == 1) begins.insert(run.begin);
    }
  scene.length = std::max(scene.length, std::ssize(owner));
  for (std::int64_t t = 0; t < std::ssize(owner); ++t) {
    const WorldRank rank = owner[static_cast<std::size_t>(t)];
    const bool goes_on = !scene.owners.empty() && scene.owners.back().rank == rank &&
                         scene.owners.back().end == t && !begins.contains(t);
    const bool other_rank = t > 0 && owner[static_cast<std::size_t>(t - 1)] != rank;
    if (!goes_on && rank.exists()) scene.owners.push_back({t, t, rank});
    if (rank.exists()) scene.owners.back().end = t + 1;
    TokenBorder border{t, t > 0 && begins.contains(t), other_rank,
                       meant.documentBeginsAt(TokenIndex::of(t))};
    if (border.chunk || border.shard || border.document) scene.borders.push_back(border);
  }
}

void summarizeTokens(TokensScene& scene) {
  double sum = 0;
  for (std::size_t i = 0; i < scene.points.size(); ++i) {
    const TokenPoint& point = scene.points[i];
    const auto at = static_cast<std::int64_t>(i);
    sum += point.loss;
    if (scene.worst < 0 || point.loss > scene.points[static_cast<std::size_t>(scene.worst)].loss)
      scene.worst = at;
    if (!point.other) continue;
    const auto worst = static_cast<std::size_t>(std::max<std::int64_t>(0, scene.worst_difference));
    if (scene.worst_difference < 0 ||
        std::abs(point.difference()) > std::abs(scene.points[worst].difference()))
      scene.worst_difference = at;
  }
  if (!scene.points.empty()) sum /= static_cast<double>(scene.points.size());
  scene.mean = sum;
}

std::string lossText(double value) {
  return traces::describeDecimals(value, 3);
}

std::string signedLossText(double value) {
  return (value > 0 ? "+" : "") + traces::describeSignificant(value, 3);
}

}  // namespace

TokensScene makeTokensScene(const traces::Trace& trace, const Cursor& cursor, std::int64_t sequence,
                            const traces::TokenLosses& losses, const OtherLosses& other) {
  TokensScene scene;
  scene.train_step = cursor.place.train_step;
  scene.missing = losses.missing;
  scene.selected = cursor.token;
  scene.other_name = other.name;
  if (const auto* run = trace.run(); run && run->model.vocab_size > 0)
    scene.vocabulary = run->model.vocab_size;
  if (!losses.tokens.empty())
    scene.sequences = losses.tokens.back().sequence - losses.tokens.front().sequence + 1;
  scene.sequence =
      std::clamp<std::int64_t>(sequence, 0, std::max<std::int64_t>(0, scene.sequences - 1));
  addTokenPoints(scene, losses, other);
  if (scene.points.empty()) {
    scene.note = !losses.missing.empty() ? "Not shown: " + losses.missing + "."
                 : losses.tokens.empty()
                     ? "No token of this group has a target in this step."
                     : "Not shown: which tokens the ranks have is not recorded.";
    return scene;
  }
  scene.length = scene.points.back().token.value() + 1;
  addTokenOwners(trace, cursor, scene);
  summarizeTokens(scene);
  if (!other.name.empty() && scene.worst_difference < 0)
    scene.other_note = other.losses.missing.empty() ? other.name + " has no target of this sequence"
                                                    : other.name + ": " + other.losses.missing;
  return scene;
}

std::string describePoint(const TokensScene& scene, const TokenPoint& point) {
  std::string words = "token " + toString(point.token) + " · rank " + toString(point.rank) +
                      " · label " + tokenText(point.label, scene.vocabulary) + " · loss " +
                      lossText(point.loss) + " · log probability " +
                      lossText(point.log_probability);
  if (point.other)
    words += " · " + signedLossText(point.difference()) + " against " + scene.other_name;
  return words;
}

std::string describe(const TokensScene& scene) {
  if (!scene.note.empty()) return scene.note;
  const TokenPoint& worst = scene.points[static_cast<std::size_t>(scene.worst)];
  std::string words = "Mean loss " + lossText(scene.mean) + " over " +
                      traces::describeCount(std::ssize(scene.points), "target") +
                      "; the worst is token " + toString(worst.token) + " of rank " +
                      toString(worst.rank) + " with " + lossText(worst.loss) + ".";
  if (!scene.missing.empty()) words += " Not all ranks: " + scene.missing + ".";
  if (!scene.other_note.empty()) words += " No differences: " + scene.other_note + ".";
  if (scene.worst_difference < 0) return words;
  const TokenPoint& differs = scene.points[static_cast<std::size_t>(scene.worst_difference)];
  if (differs.difference() == 0)
    return words + " Every loss equals that of " + scene.other_name + ".";
  return words + " Against " + scene.other_name + " token " + toString(differs.token) +
         " differs most, by " + signedLossText(differs.difference()) + ".";
}

std::vector<TokenColumn> gatherColumns(const TokensScene& scene, std::int64_t columns) {
  std::vector<TokenColumn> gathered;
  if (scene.length <= 0 || columns <= 0) return gathered;
  const std::int64_t count = std::min(columns, scene.length);
  gathered.resize(static_cast<std::size_t>(count));
  for (std::int64_t c = 0; c < count; ++c)
    gathered[static_cast<std::size_t>(c)].first = (c * scene.length + count - 1) / count;
  for (std::size_t i = 0; i < scene.points.size(); ++i) {
    const TokenPoint& point = scene.points[i];
    TokenColumn& column =
        gathered[static_cast<std::size_t>(point.token.value() * count / scene.length)];
    column.rank = column.points == 0 || column.rank == point.rank ? point.rank : WorldRank::none();
    if (column.points == 0 || point.loss > column.largest) {
      column.largest = point.loss;
      column.point = static_cast<std::int64_t>(i);
    }
    ++column.points;
    column.mean += point.loss;
    column.log_probability += point.log_probability;
    if (std::abs(point.difference()) > std::abs(column.difference))
      column.difference = point.difference();
  }
  for (TokenColumn& column : gathered)
    if (column.points > 0) {
      column.mean /= static_cast<double>(column.points);
      column.log_probability /= static_cast<double>(column.points);
    }
  return gathered;
}

}  // namespace ringscope::viz
