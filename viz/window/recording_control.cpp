// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/recording_control.h"

#include <QFileDialog>

#include "traces/format/trace/lacks.h"
#include "traces/format/trace/trace.h"
#include "viz/link/recording_path.h"
#include "viz/session/problem.h"

namespace ringscope::viz {

RecordingControl::RecordingControl(const WindowParts& parts, QObject* parent)
    : QObject(parent), parts_(parts) {
  connect(&background_, &Background::failed, this, [this](const QString&, const QString& problem) {
    parts_.page.status()->setProblem(problem);
  });
  connect(parts.page.topBar(), &TopBar::openClicked, this, &RecordingControl::chooseFile);
  connect(parts.page.stage()->problemCard(), &ProblemCard::openRequested, this,
          &RecordingControl::chooseFile);
}

void RecordingControl::open(const QString& path) {
  struct Result {
    std::shared_ptr<RecordedFile> file;
    QString failure;
  };
  parts_.page.status()->setProblem("opening " + path);
  const auto hold = std::make_shared<RunHold>(parts_.shown.folder().hold(path));
  background_.request(
      "open",
      [path = path.toStdString()](const std::stop_token&) {
        Result result;
        try {
          auto file = std::make_shared<RecordedFile>(path);
          file->trace();
          result.file = std::move(file);
        } catch (...) {
          result.failure = describeProblem(std::current_exception());
        }
        return result;
      },
      [this, path, hold](const Result& result) {
        if (result.file) {
          show(result.file, path, std::move(*hold));
        } else {
          parts_.shown.setUnopened(path);
          parts_.page.showStart(false);
          parts_.page.stage()->problemCard()->show(path, result.failure);
          parts_.page.status()->setProblem(result.failure);
        }
        Q_EMIT opened(result.failure);
      });
}

void RecordingControl::show(const std::shared_ptr<RecordedFile>& file, const QString& path,
                            RunHold hold) {
  Q_EMIT taking();
  parts_.show(path, std::move(hold));
  Viewing& viewing = parts_.viewing;
  viewing.session.open(file->trace(), recordingName(path), false, file);
  if (const auto remarks = traces::listRemarks(*file->trace()); !remarks.empty())
    parts_.page.status()->setProblem(QString::fromStdString(remarks.front()));
  viewing.player.setPlaying(true);
  parts_.page.runPanel()->setOpened(path);
  viewing.session.readTracks();
  viewing.session.diagnose(path);
}

void RecordingControl::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(&parts_.page, "Open a recording", runsFolder(),
                                                    "RingScope traces (*.rscope);;All files (*)");
  if (!path.isEmpty()) open(path);
}

}  // namespace ringscope::viz
