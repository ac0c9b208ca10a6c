// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDateTime>
#include <QObject>
#include <QUndoStack>
#include <vector>

#include "viz/scene/cursor.h"

namespace ringscope::viz {

/// A note about one moment of a recording. Without text it is a bookmark.
struct MomentNote {
  QString text;
  QString view;  ///< the view on show when the note was made
  Place place;
  double phase = 0;
  WorldRank rank = WorldRank::of(0);
  QDateTime made;

  friend bool operator==(const MomentNote&, const MomentNote&) = default;
};
using MomentNotes = std::vector<MomentNote>;

/// The notes about one recording, in a file beside it. When that file cannot be written, the notes
/// are kept in the user's data folder. Each change is saved at once, and can be undone. A file that
/// cannot be read as notes gets a name that ends in ".unreadable" before another takes its place.
class NoteBook : public QObject {
  Q_OBJECT
 public:
  explicit NoteBook(QObject* parent = nullptr);

  /// Reads the notes about a recording. The changes of the one before can no longer be undone. An
  /// empty path stands for no recording.
  void open(const QString& recording);
  const QString& recording() const { return recording_; }
  /// Returns the notes in the order of their places.
  const MomentNotes& notes() const { return notes_; }
  void add(const MomentNote& note);
  void setText(std::size_t index, const QString& text);
  void remove(std::size_t index);
  void undo() { changes_.undo(); }
  void redo() { changes_.redo(); }
  bool canUndo() const { return changes_.canUndo(); }
  bool canRedo() const { return changes_.canRedo(); }
  /// Reports whether the notes are kept beside the recording.
  bool isBeside() const;
  /// Returns why the notes could not be read or the last change not be saved; empty when they
  /// could.
  const QString& problem() const { return problem_; }

 Q_SIGNALS:
  void changed();

 private:
  class Change;
  void replace(MomentNotes notes, const QString& what);
  void take(const MomentNotes& notes);

  QString recording_, file_, problem_;
  bool unreadable_ = false;  ///< file_ holds what cannot be read as notes
  MomentNotes notes_;
  QUndoStack changes_;
};

/// Returns the notes about a recording, wherever they are kept.
MomentNotes readNotes(const QString& recording);

/// Writes notes into a file, or removes the file when there are none. Returns the problem; empty
/// when there was none.
QString saveNotes(const QString& file, const MomentNotes& notes);

/// Returns the file in the user's data folder for notes that cannot lie beside their recording.
QString notesElsewhere(const QString& recording);

}  // namespace ringscope::viz
