// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/coverage_reading.h"

#include <algorithm>
#include <optional>
#include <set>

#include "traces/analysis/doctor/coverage_tally.h"
#include "traces/analysis/doctor/other_sequence.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

using Tallies = std::vector<CoverageTally>;

bool any(const Tallies& tallies, double (*pairs)(const CoverageTally& tally)) {
  return std::ranges::any_of(tallies, [&](const auto& tally) { return pairs(tally) > 0; });
}

double future(const CoverageTally& tally) {
  return tally.future.pairs;
}
double ownFuture(const CoverageTally& tally) {
  return tally.future_own.pairs;
}
double ofWindow(const CoverageTally& tally) {
  return tally.window.pairs;
}
/// Returns the pairs that a dropped mask would have kept out, without those across documents.
double withoutMask(const CoverageTally& tally) {
  return tally.future_own.pairs + tally.future.pairs + tally.window.pairs;
}
double acrossDocuments(const CoverageTally& tally) {
  return tally.documents.pairs;
}
double repeated(const CoverageTally& tally) {
  return tally.repeated.pairs;
}
double again(const CoverageTally& tally) {
  return tally.again.pairs;
}
double missing(const CoverageTally& tally) {
  return tally.missing();
}
double elsewhere(const CoverageTally& tally) {
  return tally.elsewhere;
}
double missingOfOwn(const CoverageTally& tally) {
  return tally.missing_own;
}
/// That it explains: no more than are missing.
double cutByCausal(const CoverageTally& tally) {
  return std::min(tally.cut.pairs, tally.missing());
}

/// One sort of wrong attention: of how many pairs, and where.
struct Sort {
  AttentionIs is;
  double (*pairs)(const CoverageTally& tally);
  const Event* (*first)(const CoverageTally& tally);
};

const Event* nowhere(const CoverageTally&) {
  return nullptr;
}

/// As if there were no documents, and not by other borders than the declared.
bool knowsNoDocuments(const CoverageTally& tally) {
  return tally.inside - tally.repeated.pairs + tally.documents.pairs == tally.without_documents;
}

bool crossesIntoPaddingOnly(const Tallies& tallies) {
  return std::ranges::all_of(
      tallies, [](const auto& tally) { return tally.of_padding == tally.documents.pairs; });
}

/// A mask that is there, and is another than was declared.
bool hasOtherMask(const CoverageTally& tally) {
  return !tally.without_order || !tally.without_window;
}

/// Why pairs that were attended should not have been; kUnknown: they should.
Sort tooMany(const Tallies& tallies) {
  if (any(tallies, future) && !any(tallies, ownFuture))
    return {AttentionIs::kOfFutureBlocks, future, [](const auto& t) { return t.future.first; }};
  if (any(tallies, ownFuture) || any(tallies, ofWindow))
    return {AttentionIs::kWithoutMask, withoutMask, [](const auto& t) {
              return t.future_own.first ? t.future_own.first
                     : t.window.first   ? t.window.first
                                        : t.future.first;
            }};
  if (any(tallies, acrossDocuments))
    return {
        crossesIntoPaddingOnly(tallies) ? AttentionIs::kOfPadding : AttentionIs::kAcrossDocuments,
        acrossDocuments, [](const auto& t) { return t.documents.first; }};
  if (any(tallies, again))
    return {AttentionIs::kRepeated, again, [](const auto& t) { return t.again.first; }};
  return {AttentionIs::kUnknown, missing, nowhere};
}

/// None is missing but those that a jump of the rank's tokens parts.
bool endsAtJumps(const CoverageTally& tally) {
  return tally.missing() <= 0 || tally.ends_at_jumps;
}

/// Why pairs are missing, where none is too many.
Sort tooFew(const Tallies& tallies) {
  if (std::ranges::all_of(tallies, endsAtJumps))
    return {AttentionIs::kCutAtJumps, missing, nowhere};
  if (any(tallies, cutByCausal))
    return {AttentionIs::kCutByCausal, cutByCausal, [](const auto& t) { return t.cut.first; }};
  if (!any(tallies, elsewhere) && !any(tallies, missingOfOwn))
    return {AttentionIs::kOfOwnBlocksOnly, missing, nowhere};
  return {AttentionIs::kUnknown, missing, nowhere};
}

CoverageReading unknown(std::string would_settle, bool recorded) {
  CoverageReading reading;
  reading.missing = std::move(would_settle);
  reading.recorded = recorded;
  return reading;
}

CoverageReading describedBy(const Sort& sort, const AttentionPass& pass, const Tallies& tallies,
                            const std::vector<WorldRank>& members) {
  CoverageReading reading;
  reading.are = sort.is;
  reading.recorded = true;
  reading.place = pass.place;
  reading.microbatch = pass.microbatch;
  reading.of = static_cast<int>(members.size());
  for (std::size_t seat = 0; seat < members.size(); ++seat) {
    const CoverageTally& tally = tallies[seat];
    if (!(sort.pairs(tally) > 0)) continue;
    reading.certain = reading.certain && tally.certain;
    if (++reading.ranks > 1) continue;
    reading.rank = members[seat];
    reading.pairs = sort.pairs(tally);
    reading.wanted = tally.wanted;
    if (const Event* piece = sort.first(tally)) {
      reading.place = piece->place;
      reading.source = piece->source_rank;
    }
  }
  return reading;
}

/// A message of a pass to or from a rank that does not share the sequence; null: there is none.
const Event* fromElsewhere(const AttentionPass& pass, const std::vector<WorldRank>& members) {
  for (const auto& messages : pass.messages)
    for (const Event* message : messages)
      if (message->peer.exists() && std::ranges::count(members, message->peer) == 0) return message;
  return nullptr;
}

/// The same place, where it is wrong in no way that has a name.
CoverageReading otherwise(CoverageReading reading, const std::string& needs,
                          const std::string& does) {
  reading.are = AttentionIs::kUnknown;
  reading.missing = "needs " + needs + "; at " + describe(reading.place) + " rank " +
                    toString(reading.rank) + " " + does;
  return reading;
}

/// Reads one pass of a group.
CoverageReading judge(const Trace& trace, CoverageCounter& counter, const AttentionPass& pass,
                      const std::vector<WorldRank>& members) {
  if (const Event* message = fromElsewhere(pass, members))
    return unknown("needs blocks of ranks that share the sequence; rank " +
                       toString(message->rank) + " exchanges them with rank " +
                       toString(message->peer),
                   true);
  Tallies tallies;
  std::string lacks;
  const IntentRecord* first_meant = nullptr;
  for (std::size_t seat = 0; seat < members.size(); ++seat) {
    const IntentRecord* meant =
        trace.intent(pass.place.train_step, members[seat], pass.place.layer, pass.microbatch);
    if (!meant) return unknown("needs a declaration of the mask", false);
    if (!first_meant) first_meant = meant;
    tallies.push_back(counter.count(pass, seat, *meant));
    if (lacks.empty()) lacks = tallies.back().unknown;
  }
  const auto read = [&](const Sort& sort) {
    CoverageReading reading = describedBy(sort, pass, tallies, members);
    reading.causal = first_meant->mask != MaskKind::kFull;
    reading.window = first_meant->window;
    return reading;
  };
  // Attended pairs are known even when other ranks are not; documents may be ignored or mistaken.
  const Sort too_many = tooMany(tallies);
  const bool into_padding = too_many.is == AttentionIs::kOfPadding,
             crosses = into_padding || too_many.is == AttentionIs::kAcrossDocuments;
  if (pass.complete && !crosses && std::ranges::any_of(tallies, hasOtherMask))
    return otherwise(read(too_many), "attention by the declared order and window, or by none",
                     "goes beyond them, and not as if there were none");
  if (too_many.is != AttentionIs::kUnknown && !crosses) return read(too_many);
  if (!lacks.empty()) return unknown(lacks, false);
  if (!pass.complete) {
    const std::string events = missingEvents(trace);
    return unknown(events.empty() ? "needs a run that was not stopped within attention" : events,
                   false);
  }
  if (into_padding || (crosses && std::ranges::all_of(tallies, knowsNoDocuments)))
    return read(too_many);
  if (crosses)
    return otherwise(read(too_many),
                     "attention that ends at the declared borders of documents, or at none",
                     "crosses some of them");
  if (any(tallies, repeated))
    return otherwise(
        read({AttentionIs::kUnknown, repeated, [](const auto& t) { return t.repeated.first; }}),
        "ring steps that attend each pair once", "attends some twice at one of them");
  if (!any(tallies, missing)) return read({AttentionIs::kAsDeclared, missing, nowhere});
  const Sort sort = tooFew(tallies);
  CoverageReading reading = read(sort);
  if (sort.is != AttentionIs::kUnknown) return reading;
  const std::string pairs = describeCount(static_cast<std::int64_t>(reading.pairs)),
                    wanted = describeCount(static_cast<std::int64_t>(reading.wanted));
  return otherwise(std::move(reading), "pieces that leave pairs out in some known way",
                   "leaves out " + pairs + " of " + wanted);
}

/// The same, or that another sequence's mask explains what is wrong, where nothing tells these
/// apart.
CoverageReading judgeAmong(const Trace& trace, CoverageCounter& counter, const AttentionPass& pass,
                           const std::vector<WorldRank>& members) {
  CoverageReading reading = judge(trace, counter, pass, members);
  if (reading.are == AttentionIs::kAsDeclared || reading.are == AttentionIs::kUnknown)
    return reading;
  const WorldRank other = otherSequenceFollowed(trace, counter, pass, members);
  if (!other.exists()) return reading;
  return otherwise(std::move(reading), "the token ids of all ranks, to know which batch each read",
                   "attends by the mask of the sequence of rank " + toString(other));
}

}  // namespace

CoverageReading readCoverage(const Trace& trace) {
  CoverageReading right;
  std::optional<CoverageReading> not_known, half_done;
  for (const auto& members : allSequenceGroups(trace)) {
    CoverageCounter counter(trace, members);
    std::set<std::vector<std::int64_t>> seen;  // layers and steps do the same again and again
    for (const AttentionPass& pass : attentionPasses(trace, members)) {
      if (std::ranges::all_of(pass.attended, [](const auto& pieces) { return pieces.empty(); }))
        continue;
      if (!trace.microbatchGroups().empty() &&
          std::ranges::count(sequenceGroups(trace, {pass.place.train_step, pass.microbatch}),
                             members) == 0)
        continue;
      if (!seen.insert(counter.signature(pass)).second) continue;
      CoverageReading reading = judgeAmong(trace, counter, pass, members);
      if (reading.are == AttentionIs::kAsDeclared)
        right = std::move(reading);
      else if (reading.are != AttentionIs::kUnknown)
        return reading;
      else if (pass.complete || !missingEvents(trace).empty())
        not_known = not_known.value_or(reading);
      else
        half_done = std::move(reading);
    }
  }
  if (not_known) return *not_known;
  if (right.recorded) return right;
  return half_done.value_or(
      unknown("needs the pieces that each rank attends, with their ring steps", false));
}

}  // namespace ringscope::traces
