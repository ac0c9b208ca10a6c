// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QToolButton>

#include "viz/history/note_book.h"
#include "viz/kit/elided_label.h"
#include "viz/kit/entry_field.h"

namespace ringscope::viz {

/// The notes about the recording on show, beside the views: a field for a new note, the list, and
/// where the notes are kept.
class NotesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit NotesPanel(QWidget* parent);

  /// Shows the notes of a book. The book must outlive the panel.
  void setBook(NoteBook& book);
  /// Says which moment a new note is about.
  void setMoment(const QString& words);
  /// Shows the panel and gives the focus to the field of a new note.
  void begin();

 Q_SIGNALS:
  /// Emitted with the words of a new note; empty for a bookmark.
  void added(const QString& text);
  void chosen(const MomentNote& note);
  void closed();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void makeButtons();
  void connectField(const QToolButton* close);
  void fill();
  void go();
  void removeCurrent();

  NoteBook* book_ = nullptr;
  EntryField* field_;
  QListWidget* list_;
  QLabel *empty_, *kept_;
  ElidedLabel* moment_;
  QWidget* buttons_;
  QToolButton *add_, *edit_, *remove_, *undo_, *redo_;
  bool filling_ = false;
};

}  // namespace ringscope::viz
