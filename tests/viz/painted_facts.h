// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/facts/scene_facts.h"

namespace ringscope::facts {

// Checks of a painted view each. The words on the page must be those of the plan and of the scene,
// which other facts compare with the plan. Every number on the page must come from one of the two.
void expectPaintedMemory(const Case& c, const Look& look);
void expectPaintedMerge(const Case& c, const Look& look, std::mt19937& random);
void expectPaintedPositions(const Case& c, const Look& look);
void expectPaintedDiff(const Case& c, const Look& look);
void expectPaintedRing(const Case& c, const Look& look, std::mt19937& random);
void expectPaintedNow(const Case& c, const Look& look);
void expectPaintedCoverage(const Case& c, const Look& look);
void expectPaintedTimeline(const Case& c, const Look& look);
void expectPaintedInspector(const Case& c, const Look& look);

}  // namespace ringscope::facts
