// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/scene/cursor.h"
#include "viz/scene/data.h"
#include "viz/scene/place_words.h"

namespace ringscope::viz {

/// The place in a recording that a user's words name.
struct GoToTarget {
  Cursor cursor;         ///< the place; the cursor that was given when `found` is false
  bool found = false;    ///< the recording has the place
  std::string sentence;  ///< the place in words, or why it was not found and what is accepted
};

/// Finds the place that a user typed in a recording. Parts that were not named stay as in `from`
/// where the recording has them. A pass without a ring step means its first one.
GoToTarget findTarget(const traces::Trace& trace, const Cursor& from, const PlaceWords& words);

/// Returns the cursor on a token of the cursor's step, with the rank that owns it selected: the
/// selected rank, or else one of its group, or else any. The token is none when nobody is recorded
/// to own it.
Cursor cursorOnToken(const traces::Trace& trace, Cursor cursor, TokenIndex token);

}  // namespace ringscope::viz
