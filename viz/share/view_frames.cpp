// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/view_frames.h"

#include <QApplication>
#include <algorithm>

#include "traces/analysis/report/finding_place.h"
#include "traces/format/core/error.h"

namespace ringscope::viz {
namespace {

constexpr QSize kStage(1180, 700);
constexpr double kPhase = 0.55;  // blocks are on their way

int momentAt(const Session& session, const Place& place, const char* option) {
  const auto& moments = session.trace().moments();
  const auto found = std::ranges::find(moments, place);
  if (found == moments.end())
    throw usageError(std::string(option) + " " + traces::positionText(place) +
                     ": this ring step is not in the recording");
  return static_cast<int>(found - moments.begin());
}

std::vector<Shape> drawShapes(View& view, const Theme& theme, Definitions& definitions) {
  view.setTheme(theme);
  ShapeRecorder recorder(view.pageSize(), definitions);
  QPainter painter(&recorder);
  painter.setRenderHint(QPainter::Antialiasing);
  view.drawPage(painter);
  painter.end();
  return recorder.shapes();
}

}  // namespace

QStringList defaultSharedViews() {
  return {"ring", "coverage", "positions", "merge", "timeline", "diff", "memory", "curves"};
}

bool canBeShared(const QString& view) {
  return view != "doctor" && view != "query" && view != "compare";
}

std::vector<ViewEntry> sharedEntries(const QStringList& names) {
  const auto& all = viewRegistry();
  std::vector<ViewEntry> entries;
  for (const QString& name : names) {
    const auto found = std::ranges::find(all, name, &ViewEntry::name);
    if (found == all.end())
      throw usageError("there is no view " + name.toStdString() +
                       "; `ringscope-gui --list-views` lists the views");
    if (!canBeShared(name))
      throw usageError("the view " + name.toStdString() +
                       " needs the window; a page always lists the findings");
    entries.push_back(*found);
  }
  return entries;
}

std::pair<int, int> sharedMoments(const Session& session, const ShareChoice& choice, int most) {
  const auto& moments = session.trace().moments();
  const int last = static_cast<int>(moments.size()) - 1;
  if (last < 0) return {0, 0};
  int from = choice.from ? momentAt(session, *choice.from, "--from") : 0;
  if (!choice.from && !choice.until && last >= most && session.diagnosis()) {
    for (const traces::Finding& finding : session.diagnosis()->findings()) {
      const auto found = std::ranges::find(moments, traces::placeFor(finding));
      if (found == moments.end()) continue;
      from = static_cast<int>(found - moments.begin());
      break;
    }
    from = std::min(from, last - most + 1);
  }
  const int until =
      choice.until ? momentAt(session, *choice.until, "--until") : std::min(last, from + most - 1);
  if (until < from) throw usageError("--until is before --from");
  return {from, until};
}

DrawnView::DrawnView(const Session& session, const ViewEntry& entry) {
  viewing_.session.open(session.shareTrace(), session.name(), false);
  viewing_.session.readTracks();
  view_.reset(entry.make(viewing_, nullptr));
  view_->setAttribute(Qt::WA_DontShowOnScreen);
  view_->setAttribute(Qt::WA_ShowWithoutActivating);
  view_->resize(kStage);
}

void DrawnView::goTo(int moment) {
  viewing_.navigator.setMoment(moment, kPhase);
  view_->show();
  QApplication::processEvents();
  while (view_->isMaking() || viewing_.session.tracksRead() < 1)
    QApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
}

SharedView drawFrames(const Session& session, const ViewEntry& entry, std::pair<int, int> moments,
                      FrameStore& store, const std::function<bool()>& goes_on) {
  DrawnView drawn(session, entry);
  SharedView shared{entry.name, entry.title, {}, {}};
  for (int moment = moments.first; moment <= moments.second; ++moment) {
    if (!goes_on()) throw usageError("stopped: nothing was exported");
    drawn.goTo(moment);
    View& view = drawn.view();
    const auto dark = drawShapes(view, Theme::named("dark"), store.definitions());
    const auto light = drawShapes(view, Theme::named("light"), store.definitions());
    shared.frames.push_back(store.add(dark, light, view.pageSize()));
    shared.sentences.push_back(view.accessibleDescription().toStdString());
  }
  return shared;
}

}  // namespace ringscope::viz
