// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/session/selected_token.h"

#include "viz/scene/go_to.h"

namespace ringscope::viz {

void selectToken(Viewing& viewing, TokenIndex token) {
  const Cursor cursor = cursorOnToken(viewing.session.trace(), viewing.navigator.cursor(), token);
  if (cursor.token.exists()) viewing.navigator.setCursor(cursor);
}

void showMerge(Viewing& viewing, TokenIndex token) {
  Navigator& navigator = viewing.navigator;
  if (token.isNone())
    return Q_EMIT navigator.told(
        "no token is selected; click one in Positions, or go to one with Ctrl+G");
  const Cursor cursor = cursorOnToken(viewing.session.trace(), navigator.cursor(), token);
  if (cursor.token.isNone())
    return Q_EMIT navigator.told(
        QString("which rank owns token %1 is not recorded, so its merge cannot be shown")
            .arg(token.value()));
  navigator.lead("merge", cursor);
}

}  // namespace ringscope::viz
