// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/save_control.h"

#include <QFileDialog>

#include "viz/history/recording_copy.h"
#include "viz/link/recording_path.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

constexpr int kSaveTickMs = 100, kUnsaidMs = 800, kPermille = 1000;

}  // namespace

SaveControl::SaveControl(const WindowParts& parts, HistoryControl& history, QObject* parent)
    : QObject(parent), parts_(parts), history_(history) {
  ticks_.setInterval(kSaveTickMs);
  connect(&ticks_, &QTimer::timeout, this, &SaveControl::showProgress);
  connect(&background_, &Background::failed, this, [this](const QString&, const QString& problem) {
    end({});
    parts_.page.status()->setProblem(problem);
  });
  connect(parts.page.topBar()->runs(), &RunsButton::saveRequested, this, &SaveControl::choose);
}

void SaveControl::choose() {
  const QString from = parts_.viewing.session.path();
  if (from.isEmpty() || isBusy())
    return parts_.page.status()->tell(from.isEmpty()
                                          ? tr("A recording can be saved once it is open and whole")
                                          : tr("The last copy is still being saved"));
  const bool is_folder = QFileInfo(from).isDir();
  const QString to = QFileDialog::getSaveFileName(
      &parts_.page, tr("Save the recording as"), QDir::homePath() + "/" + recordingName(from),
      is_folder ? tr("Folders (*)") : tr("RingScope traces (*.rscope);;All files (*)"));
  if (!to.isEmpty()) begin(from, to);
}

void SaveControl::begin(const QString& from, const QString& to) {
  to_ = to;
  watch_ = std::make_shared<Watch>();
  dialog_ = std::make_unique<QProgressDialog>(tr("Saving %1").arg(QFileInfo(to).fileName()),
                                              tr("Cancel"), 0, kPermille, &parts_.page);
  dialog_->setWindowTitle(tr("Save as"));
  dialog_->setMinimumDuration(kUnsaidMs);
  connect(dialog_.get(), &QProgressDialog::canceled, this,
          [watch = watch_] { watch->stopped = true; });
  ticks_.start();
  background_.request(
      "save",
      [watch = watch_, from, to](const std::stop_token& stop) {
        return copyRecording(from, to, [&](qint64 copied, qint64 total) {
          watch->total = total;
          watch->copied = copied;
          return !watch->stopped && !stop.stop_requested();
        });
      },
      [this](bool finished) {
        if (!finished) return end(tr("Nothing was saved: the copy was cancelled"));
        history_.note(to_);
        end(tr("Saved %1").arg(to_));
      });
}

void SaveControl::showProgress() {
  const qint64 copied = watch_->copied, total = watch_->total;
  if (total <= 0) return;
  dialog_->setLabelText(tr("Saving %1: %2 of %3")
                            .arg(QFileInfo(to_).fileName(), describeBytes(copied).c_str(),
                                 describeBytes(total).c_str()));
  // The dialog closes by itself at its maximum, before the copy has its name.
  dialog_->setValue(std::min(kPermille - 1, static_cast<int>(copied * kPermille / total)));
}

void SaveControl::end(const QString& sentence) {
  ticks_.stop();
  watch_.reset();
  dialog_->hide();
  dialog_.release()->deleteLater();  // it may be what called
  if (!sentence.isEmpty()) parts_.page.status()->tell(sentence);
}

}  // namespace ringscope::viz
