// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/drop_control.h"

#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QUrl>

namespace ringscope::viz {
namespace {

constexpr qsizetype kMostDropped = 2;

/// Returns the paths of a drop. An address of another program, such as a web page, has none.
QStringList droppedPaths(const QMimeData& dropped) {
  QStringList paths;
  for (const QUrl& url : dropped.urls())
    if (const QString path = url.toLocalFile(); !path.isEmpty()) paths << path;
  return paths;
}

}  // namespace

DropControl::DropControl(const WindowParts& parts, RecordingControl& recordings,
                         HistoryControl& history, QWidget* window)
    : QObject(window), parts_(parts), recordings_(recordings), history_(history) {
  window->setAcceptDrops(true);
  window->installEventFilter(this);
  connect(&parts_.viewing.comparison, &Comparison::changed, this, &DropControl::tellFailure);
}

bool DropControl::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::DragEnter && event->type() != QEvent::Drop)
    return QObject::eventFilter(watched, event);
  auto* drop = static_cast<QDropEvent*>(event);  // also the base of QDragEnterEvent
  if (watched != parent() || !drop->mimeData()->hasUrls()) return false;
  drop->acceptProposedAction();
  if (event->type() == QEvent::Drop) take(*drop->mimeData());
  return true;
}

void DropControl::take(const QMimeData& dropped) {
  NoticeBar* notice = parts_.page.stage()->notice();
  const QStringList paths = droppedPaths(dropped);
  compared_.clear();
  if (paths.isEmpty()) {
    parts_.page.showStart(false);
    return notice->show(tr("Nothing was opened"),
                        tr("What was dropped is no file or folder of this machine. Save it as a "
                           "file, and drop the file."));
  }
  notice->hide();
  if (paths.size() > kMostDropped)
    notice->show(tr("Two of %1 recordings are opened").arg(paths.size()),
                 tr("The first one is on show, and the second one is compared with it. Drop the "
                    "others one by one."));
  if (paths.size() == 1) return recordings_.open(paths[0]);
  compared_ = paths[1];
  history_.compare(paths[0], paths[1]);
}

void DropControl::tellFailure() {
  const Comparison& comparison = parts_.viewing.comparison;
  if (compared_.isEmpty() || comparison.other() != compared_) return;
  if (comparison.state() == Comparison::State::kFailed)
    parts_.page.stage()->notice()->show(
        tr("%1 cannot be compared").arg(QFileInfo(compared_).fileName()), comparison.problem());
}

}  // namespace ringscope::viz
