// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/facts/facts_case.h"
#include "viz/scene/cursor.h"

namespace ringscope::facts {

/// The place at which a recording is viewed, in plain numbers.
struct Look {
  int group = 0, rank = 0, step = 0, layer = 0, ring_step = 0;  ///< rank: of the cp group
  bool backward = false;

  viz::Cursor cursor(const Case& c) const;
  traces::Place place() const;
};
/// Any moment of a run, in any group.
Look drawnLook(const Case& c, std::mt19937& random);
std::string describe(const Look& look);

// Each compares one scene with what the plan says. A disagreement fails the test.
void expectRing(const Case& c, const Look& look);
void expectSentence(const Case& c, const Look& look, const std::string& sentence);
void expectCoverage(const Case& c, const Look& look);
void expectMerge(const Case& c, const Look& look, std::mt19937& random);
void expectPositions(const Case& c, const Look& look);
void expectMemory(const Case& c, const Look& look);
void expectDiff(const Case& c, const Look& look);
void expectInspector(const Case& c, const Look& look);
void expectDoctor(const Case& c);
void expectStatus(const Case& c);
void expectGroups(const Case& c);
void expectTimeline(const Case& c, const Look& look);
/// The whole run on lanes, and where the time of a step goes.
void expectWholeTimeline(const Case& c, const Look& look, std::mt19937& random);
/// A step as if every rank had a device of its own, on hardware of any kind.
void expectOwnClock(const Case& c, const Look& look, std::mt19937& random);
void expectSummary(const Case& c, const Look& look);
/// Loss, gradient norm and the rest over the steps of the run.
void expectCurves(const Case& c);
/// Each quantity is the same at every place that shows it.
void expectOneOfEach(const Case& c);
/// The tables as SQL has them, and where rows lead.
void expectQueries(const Case& c, const Look& look, std::mt19937& random);
void expectTensors(const Case& c, const Look& look, std::mt19937& random);
void expectErrorMaps(const Case& c, const Look& look);
void expectAxis(const Case& c, const Look& look);
/// All ranks at an instant within the selected one's ring step.
void expectInstant(const Case& c, const Look& look, std::mt19937& random);
/// The scenes of a part of the recording, as while the run goes on.
void expectGrowing(const Case& c, std::mt19937& random);

/// The position that a rank's model used for its local row.
int usedPosition(const Case& c, const Look& look, int rank, int row);

/// "0, 2, 5–7" as numbers.
std::set<int> numbersIn(const std::string& list);
/// Return the words for a reason on a card, and in a sentence.
std::string briefWords(Reason reason);
std::string clauseWords(Reason reason);
/// Ranks of a cp group as the trace numbers them.
std::vector<int> worlds(const Case& c, int group, const std::vector<int>& ranks);
/// The numbers of chunks that hold some of these tokens.
std::set<int> chunksWith(const std::vector<std::vector<int>>& chunks, const std::set<int>& tokens);
/// All events of a rank at a place, found one by one.
std::vector<traces::Event> eventsFor(const Case& c, int world, const traces::Place& place);

/// The mean log-sum-exp of a rank's rows that have seen a key by the end of a forward ring step.
struct SeenRows {
  double mean = 0;
  std::int64_t rows = 0;
};
SeenRows seenRows(const Case& c, const Look& look, int rank, int ring_step);

}  // namespace ringscope::facts
