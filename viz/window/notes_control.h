// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/history/note_book.h"
#include "viz/window/beside_control.h"

namespace ringscope::viz {

/// The notes about the recording on show: opens the book of each recording, adds notes about the
/// moment on show, and goes to the moment of a note.
class NotesControl : public QObject {
  Q_OBJECT
 public:
  NotesControl(const WindowParts& parts, QObject* parent);

  /// Shows the panel for a note about this moment.
  void begin();
  void togglePanel();
  NoteBook& book() { return book_; }

 private:
  NotesPanel* panel() { return parts_.page.stage()->notes(); }
  void follow();
  void add(const QString& text);
  void goTo(const MomentNote& note);
  void describeMoment();

  WindowParts parts_;
  NoteBook book_;
};

}  // namespace ringscope::viz
