// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMenu>

#include "viz/session/selected_token.h"

namespace ringscope::viz {

/// Opens a context menu that shows how the output of a token came together. Opens nothing when the
/// token is none.
inline void openMergeMenu(QWidget& view, Viewing& viewing, TokenIndex token, const QPoint& global) {
  if (token.isNone()) return;
  auto* menu = new QMenu(&view);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addAction(QString("Show merge of token %1").arg(token.value()), &view,
                  [&viewing, token] { showMerge(viewing, token); });
  menu->popup(global);
}

}  // namespace ringscope::viz
