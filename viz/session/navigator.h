// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>

#include "viz/scene/cursor.h"
#include "viz/session/session.h"

namespace ringscope::viz {

/// The cursor that the views of one session share, and how it is moved. It always stands at one of
/// the recording's moments, while there are any.
class Navigator : public QObject {
  Q_OBJECT
 public:
  explicit Navigator(const Session& session, QObject* parent = nullptr);

  const Cursor& cursor() const { return cursor_; }
  /// Returns the index of the place in trace().moments().
  int moment() const;
  /// Returns the instant on the run's clock that is viewed, in nanoseconds.
  std::int64_t instant() const;

  /// Moves the cursor, and brings impossible fields to the nearest possible ones.
  void setCursor(Cursor cursor);
  void setMoment(int moment, double phase);
  void setPlace(const Place& place);
  void selectRank(WorldRank rank);
  void selectTensor(const QString& name);
  /// Goes to another group, and selects its rank in the seat of the selected rank.
  void setGroup(int group);
  void setAxis(Axis axis);
  /// Seals the views for a quiz round, or opens the seal.
  void setSealed(bool sealed);

  /// The requests of a user follow. They take the cursor from the player.
  void goTo(const Cursor& cursor);
  /// Goes to the ring step that the selected rank was in at this time, and as far into it.
  void goToInstant(std::int64_t ns);
  /// Moves by whole ring steps. Stops at both ends.
  void move(int moments);
  /// Goes to the same ring step of another training step.
  void moveTrainStep(int steps);
  /// Goes to the layer and direction of the next divergence, in the order of dependence. Begins
  /// anew after the last. Tells the user which one it is, or that there is none.
  void nextDivergence();
  /// Goes to a cursor and requests a view.
  void lead(const QString& view, const Cursor& cursor);

 Q_SIGNALS:
  void cursorChanged();
  /// Emitted when a user has moved the cursor.
  void taken();
  /// Emitted before lead() moves the cursor, so that the window can come back.
  void leaving(const Place& from);
  void viewRequested(const QString& name);
  /// Emitted with a sentence for the user about the new place.
  void told(const QString& sentence);

 private:
  void followData();
  Cursor settled(Cursor cursor) const;

  const Session& session_;
  Cursor cursor_;
  int recording_ = 0;  // of the session's trace that the cursor stands in
  std::size_t next_divergence_ = 0;
};

}  // namespace ringscope::viz
