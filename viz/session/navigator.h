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
  const Place& place() const { return cursor_.place; }
  double phase() const { return cursor_.phase; }
  WorldRank rank() const { return cursor_.rank; }
  QString tensor() const { return QString::fromStdString(cursor_.tensor); }
  Axis axis() const { return cursor_.axis; }
  /// Returns the index of the place in trace().moments().
  int moment() const;
  /// The instant on the run's clock that is viewed.
  std::int64_t instant() const;

  /// Any change at once; what cannot be is brought to the nearest that can.
  void setCursor(Cursor cursor);
  void setMoment(int moment, double phase);
  void setPlace(const Place& place);
  void selectRank(WorldRank rank);
  void selectTensor(const QString& name);
  /// To another group, and there to the rank in the seat of the selected one.
  void setGroup(int group);
  void setAxis(Axis axis);

  /// The requests of a user follow. They take the cursor from the player.
  void goTo(const Cursor& cursor);
  /// To the ring step that the selected rank was in at this time, and as far into it.
  void goToInstant(std::int64_t ns);
  /// By whole ring steps; stops at both ends.
  void move(int moments);
  /// To the same ring step of another training step.
  void moveTrainStep(int steps);
  /// To the layer and direction of the next divergence, in the order of dependence; round again at
  /// the end. Says which it is, or that there is none.
  void nextDivergence();
  /// Leads to a cursor in a view.
  void lead(const QString& view, const Cursor& cursor);

 Q_SIGNALS:
  void cursorChanged();
  /// A user has moved it.
  void taken();
  /// Something leads the cursor away from here; the window can come back.
  void leaving(const Place& from);
  void viewRequested(const QString& name);
  /// Says what has been found at the place.
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
