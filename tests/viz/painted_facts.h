// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/facts/scene_facts.h"

namespace ringscope::facts {

// Each paints one view: the words on the page are those of the plan and of the scene, which other
// facts compare with the plan, and no number stands there that neither of them has.
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
