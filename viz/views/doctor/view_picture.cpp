// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/view_picture.h"

#include <algorithm>
#include <memory>

#include "traces/format/core/error.h"
#include "viz/views/base/view.h"

namespace ringscope::viz {
namespace {

const ViewEntry& entryOf(const QString& view) {
  const auto& views = viewRegistry();
  const auto entry = std::ranges::find(views, view, &ViewEntry::name);
  if (entry == views.end()) throw usageError("there is no view " + view.toStdString());
  return *entry;
}

}  // namespace

QImage drawPicture(const Session& session, const QString& view, const Cursor& cursor,
                   const Theme& theme, double ratio) {
  constexpr QSize kSize(760, 460);
  const ViewEntry& entry = entryOf(view);
  Viewing viewing;
  viewing.session.open(session.shareTrace(), session.name(), false);
  viewing.navigator.setCursor(cursor);
  const std::unique_ptr<View> drawn(entry.make(viewing, nullptr));
  drawn->setStyleSheet(themeStyleSheet(theme));
  drawn->setTheme(theme);
  drawn->setAttribute(Qt::WA_DontShowOnScreen);
  drawn->setAttribute(Qt::WA_ShowWithoutActivating);
  drawn->resize(kSize);
  drawn->show();
  QImage image(kSize * ratio, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  image.fill(theme.background);
  drawn->render(&image);
  return image;
}

ExplanationPicture drawPicture(const Session& session, const FindingCard& card,
                               const Cursor& cursor, const Theme& theme, double ratio) {
  Cursor at = cursorAt(card, cursor);
  at.phase = 0.5;  // blocks are on their way
  const QString view = QString::fromStdString(card.view);
  return {drawPicture(session, view, at, theme, ratio),
          QString("%1 at %2, from %3")
              .arg(entryOf(view).title, QString::fromStdString(describe(at.place)), session.name()),
          card.evidence};
}

}  // namespace ringscope::viz
