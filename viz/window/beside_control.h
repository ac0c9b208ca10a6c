// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <optional>

#include "viz/window/shown_run.h"
#include "viz/window/window_page.h"

namespace ringscope::viz {

/// The parts of the window that its controls work with.
struct WindowParts {
  Viewing &viewing, &before;
  ShownRun& shown;
  WindowPage& page;

  /// Shows another recording: forgets the sentences, the problem card and the places that belong to
  /// the one before.
  void show(const QString& path, RunHold hold = {}) const;
};

/// The second recording beside the first: the run before a what-if, or the other recording of the
/// Compare view.
class BesideControl : public QObject {
  Q_OBJECT
 public:
  BesideControl(const WindowParts& parts, QObject* parent);

  /// Shows what is on show now as the run before a what-if. The what-if's cursor goes to the same
  /// place as soon as the what-if has come that far.
  void showBefore();
  /// Shows the second recording of the Compare view.
  void showOther();
  void close();
  /// Moves the cursor of a what-if that has come far enough.
  void keepPlace();

 private:
  WindowParts parts_;
  std::optional<Place> kept_place_;
  Background background_;
};

}  // namespace ringscope::viz
