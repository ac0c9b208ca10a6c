// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/session/viewing.h"

namespace ringscope::viz {

/// Selects a token of the viewed step and the rank that owns it. Does nothing when no rank is
/// recorded to own it.
void selectToken(Viewing& viewing, TokenIndex token);

/// Goes to the Merge view of a token. Tells the user when no rank is recorded to own it, or when
/// the token is none.
void showMerge(Viewing& viewing, TokenIndex token);

}  // namespace ringscope::viz
