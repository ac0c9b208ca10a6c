// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/notes_control.h"

#include "traces/format/trace/trace.h"

namespace ringscope::viz {

NotesControl::NotesControl(const WindowParts& parts, QObject* parent)
    : QObject(parent), parts_(parts) {
  panel()->setBook(book_);
  const Session& session = parts_.viewing.session;
  connect(&session, &Session::stateChanged, this, &NotesControl::follow);
  connect(&session, &Session::dataChanged, this, &NotesControl::follow);
  connect(&parts_.viewing.navigator, &Navigator::cursorChanged, this, [this] {
    if (panel()->isVisible()) describeMoment();
  });
  connect(panel(), &NotesPanel::added, this, &NotesControl::add);
  connect(panel(), &NotesPanel::chosen, this, &NotesControl::goTo);
  connect(panel(), &NotesPanel::closed, this, &NotesControl::togglePanel);
}

void NotesControl::follow() {
  const QString path = parts_.viewing.session.path();
  if (path != book_.recording()) book_.open(path);
}

void NotesControl::describeMoment() {
  const Cursor& cursor = parts_.viewing.navigator.cursor();
  panel()->setMoment(QString::fromStdString("rank " + toString(cursor.rank) + " · " +
                                            traces::describe(cursor.place)));
}

void NotesControl::begin() {
  parts_.page.showStart(false);
  panel()->begin();
  describeMoment();
}

void NotesControl::togglePanel() {
  panel()->setVisible(panel()->isHidden());
  if (panel()->isVisible()) return describeMoment();
  parts_.page.stage()->current()->setFocus();
}

void NotesControl::add(const QString& text) {
  const Cursor& cursor = parts_.viewing.navigator.cursor();
  if (parts_.viewing.session.trace().moments().empty()) return;
  book_.add({text, parts_.page.stage()->shown(), cursor.place, cursor.phase, cursor.rank,
             QDateTime::currentDateTime()});
  parts_.page.stage()->current()->setFocus();
}

void NotesControl::goTo(const MomentNote& note) {
  Cursor cursor = parts_.viewing.navigator.cursor();
  cursor.place = note.place;
  cursor.phase = note.phase;
  cursor.rank = note.rank;
  const auto& views = viewRegistry();
  const bool is_known = std::ranges::find(views, note.view, &ViewEntry::name) != views.end();
  parts_.viewing.player.setPlaying(false);
  parts_.viewing.navigator.lead(is_known ? note.view : views.front().name, cursor);
}

}  // namespace ringscope::viz
