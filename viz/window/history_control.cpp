// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/history_control.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QUrl>

#include "traces/format/core/error.h"

namespace ringscope::viz {
namespace {

constexpr const char* kComparedView = "compare";
constexpr std::size_t kMostRecent = 5;

}  // namespace

HistoryControl::HistoryControl(const WindowParts& parts, RecordingControl& recordings,
                               QObject* parent)
    : QObject(parent),
      parts_(parts),
      recordings_(recordings),
      history_(parts.shown.folder(), RecordingLog(recordingLogFile())),
      digests_(digestFolder()),
      model_(history_, digests_, nullptr) {
  connectPage();
  connect(&recordings_, &RecordingControl::opened, this, &HistoryControl::remember);
  connect(parts_.page.topBar()->runs(), &RunsButton::historyRequested, this,
          &HistoryControl::toggle);
  StartPage* start = parts_.page.start();
  connect(start, &StartPage::historyRequested, this, &HistoryControl::toggle);
  connect(start, &StartPage::shown, this, &HistoryControl::showRecent);
  connect(&digests_, &DigestStore::made, this, [this, start] {
    if (start->isVisible()) showRecent();
  });
  const Session& session = parts_.viewing.session;
  connect(&session, &Session::stateChanged, this, [this, &session] {
    if (session.diagnosis() && !session.path().isEmpty())
      digests_.setVerdict(entryPath(session.path()), shortVerdict(*session.diagnosis()));
  });
}

void HistoryControl::connectPage() {
  HistoryPage* page = parts_.page.history();
  page->setModel(model_);
  connect(page, &HistoryPage::openRequested, &recordings_, &RecordingControl::open);
  connect(page, &HistoryPage::compareRequested, this, &HistoryControl::compare);
  connect(page, &HistoryPage::pinRequested, this, &HistoryControl::pin);
  connect(page, &HistoryPage::removeConfirmed, this, &HistoryControl::remove);
  connect(page, &HistoryPage::folderRequested, this, &HistoryControl::showFolder);
  connect(page, &HistoryPage::closeRequested, this, &HistoryControl::close);
  connect(&model_, &HistoryModel::failed, page, &HistoryPage::tell);
}

QString HistoryControl::recordedNow() const {
  return parts_.viewing.session.live() ? parts_.shown.path() : QString();
}

void HistoryControl::toggle() {
  HistoryPage* page = parts_.page.history();
  if (page->isVisible()) return close();
  if (parts_.viewing.navigator.cursor().sealed)
    return parts_.page.status()->tell(
        tr("The history is closed until this round of the quiz is revealed"));
  parts_.page.showHistory(true);
  reload();
  page->begin();
}

void HistoryControl::close() {
  parts_.page.showHistory(false);
}

void HistoryControl::reload() {
  if (parts_.page.history()->isVisible()) {
    model_.reload(recordedNow());
    parts_.page.history()->setShown(recordedNow().isEmpty() ? parts_.viewing.session.path()
                                                            : QString());
  }
  if (parts_.page.start()->isVisible()) showRecent();
}

void HistoryControl::compare(const QString& first, const QString& second) {
  if (first.isEmpty()) {
    parts_.viewing.comparison.with(second);
    return parts_.page.stage()->show(kComparedView);
  }
  recordings_.open(first);
  pair_ = {first, second};
}

void HistoryControl::remember(const QString& failure) {
  const auto [first, second] = std::exchange(pair_, {});
  if (!failure.isEmpty()) return;
  if (!second.isEmpty() && first == parts_.shown.path()) compare({}, second);
  note(parts_.shown.path());
}

void HistoryControl::note(const QString& path) {
  if (!remembers_) return;
  try {
    history_.setOpened(path, QDateTime::currentDateTime());
  } catch (const Error& error) {
    parts_.page.status()->tell(error.what());
  }
}

void HistoryControl::pin(const HistoryEntry& entry) {
  try {
    history_.setPinned(entry, !entry.pinned);
    parts_.page.history()->tell(
        (entry.pinned ? tr("%1 is no longer pinned") : tr("%1 is pinned: it is never removed"))
            .arg(entry.name));
  } catch (const Error& error) {
    parts_.page.history()->tell(error.what());
  }
  reload();
}

void HistoryControl::remove(const QList<HistoryEntry>& entries) {
  QString told;
  int removed = 0;
  for (const HistoryEntry& entry : entries) {
    try {
      history_.remove(entry);
      ++removed;
    } catch (const Error& error) {
      told = error.what();
    }
  }
  if (told.isEmpty())
    told = (entries.first().is_own ? tr("Deleted %1") : tr("Took %1 off the list"))
               .arg(removed == 1 ? entries.first().name : tr("%1 recordings").arg(removed));
  reload();
  parts_.page.history()->tell(told);
}

void HistoryControl::showFolder(const QString& path) {
  const QString folder = QFileInfo(path).absolutePath();
  if (!QDesktopServices::openUrl(QUrl::fromLocalFile(folder)))
    parts_.page.history()->tell(tr("The recording is in %1").arg(folder));
}

void HistoryControl::showRecent() {
  if (!remembers_) return;  // pictures are the same on every machine
  std::vector<RecentRecording> recent;
  for (const HistoryEntry& entry : history_.recent(kMostRecent)) {
    HistoryRow row{entry, nullptr, {}, {}, entry.path == recordedNow()};
    if (!entry.is_remote && !row.is_recorded_now) row.digest = digests_.digest(entry.path);
    recent.push_back({entry.path, entry.name, row.state().words,
                      describeTime(entry.used, QDateTime::currentDateTime())});
  }
  parts_.page.start()->setRecent(recent);
}

}  // namespace ringscope::viz
