// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>
#include <functional>
#include <memory>
#include <optional>

#include "viz/share/frame_store.h"
#include "viz/views/base/view.h"

namespace ringscope::viz {

/// The views and the range of ring steps that a page shows.
struct ShareChoice {
  QStringList views;                 ///< names of views; empty: defaultSharedViews()
  std::optional<Place> from, until;  ///< first and last ring step; nothing: as sharedMoments() says
};

/// One view of a page, frame by frame.
struct SharedView {
  QString name, title;
  std::vector<int> frames;             ///< index in the FrameStore, per ring step
  std::vector<std::string> sentences;  ///< what the view says about it, per ring step
};

/// The views that a page shows unless others are chosen.
QStringList defaultSharedViews();
/// Reports whether a view shows something without the window's controls.
bool canBeShared(const QString& view);
/// Returns the entries of these views. Throws usageError for a name that no view has, and for a
/// view whose contents need the window.
std::vector<ViewEntry> sharedEntries(const QStringList& names);

/// Returns the indices of the first and the last moment to show. Without a choice, these are all
/// moments, or of a longer recording the `most` moments from the first finding on. Throws
/// usageError for a place that was not recorded.
std::pair<int, int> sharedMoments(const Session& session, const ShareChoice& choice, int most);

/// A view of a recording that is drawn without a window.
class DrawnView {
 public:
  DrawnView(const Session& session, const ViewEntry& entry);
  /// Goes to a moment and waits until the view has everything that it draws.
  void goTo(int moment);
  View& view() { return *view_; }

 private:
  Viewing viewing_;
  std::unique_ptr<View> view_;
};

/// Draws a view at each moment of a range. Calls `goes_on` before every frame and throws
/// usageError when it returns false.
SharedView drawFrames(const Session& session, const ViewEntry& entry, std::pair<int, int> moments,
                      FrameStore& store, const std::function<bool()>& goes_on);

}  // namespace ringscope::viz
