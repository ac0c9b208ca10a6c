// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/share_control.h"

#include <QFileDialog>

#include "traces/format/core/resources.h"
#include "viz/link/recording_path.h"
#include "viz/window/share_dialog.h"

namespace ringscope::viz {
namespace {

constexpr int kQuickMs = 3000;  // a killed process ends within this time

QString firstLine(const QByteArray& words) {
  return QString::fromUtf8(words).section('\n', 0, 0).trimmed();
}

}  // namespace

ShareControl::ShareControl(QWidget* window) : QObject(window), window_(window) {
  share_.setText("Share as a web page …");
  share_.setToolTip("One file with the findings and a player of the views, for any browser");
  report_.setText("Report …");
  report_.setToolTip("The findings with pictures, as Markdown or PDF");
  connect(&share_, &QAction::triggered, this, &ShareControl::share);
  connect(&report_, &QAction::triggered, this, &ShareControl::report);
  connect(&process_, &QProcess::finished, this, &ShareControl::end);
  connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    Q_EMIT failed("the program that draws the file cannot be started: " + process_.errorString());
    Q_EMIT changed();
  });
}

void ShareControl::setRecording(const QString& path) {
  recording_ = path;
}

void ShareControl::stop() {
  stopped_ = true;
  process_.kill();
  process_.waitForFinished(kQuickMs);
}

void ShareControl::share() {
  ShareDialog dialog(window_->window());
  if (dialog.exec() != QDialog::Accepted) return;
  begin({"--export-html", "html", "Share as a web page", "Web page (*.html)"}, dialog.arguments());
}

void ShareControl::report() {
  // The name decides about the format: another filter of the dialog does not change a name.
  begin({"--export-report", "md", "Write a report: the name ends in .md or .pdf",
         "Reports (*.md *.pdf)"},
        {});
}

void ShareControl::begin(const Kind& kind, const QStringList& more) {
  const QString program = QString::fromStdString(traces::programBeside("ringscope-gui"));
  if (program.isEmpty()) {
    Q_EMIT failed("ringscope-gui is not installed beside this program, so the file is not drawn");
    return;
  }
  const QString output = QFileDialog::getSaveFileName(
      window_->window(), kind.title, proposedOutput(recording_, kind.suffix), kind.filter);
  if (output.isEmpty() || isRunning()) return;
  stopped_ = false;
  process_.start(program,
                 QStringList{kind.option + "=" + output} + more + QStringList{"--", recording_});
  Q_EMIT said("drawing " + output + " …");
  Q_EMIT changed();
}

void ShareControl::end(int code, QProcess::ExitStatus status) {
  if (stopped_)
    Q_EMIT said("stopped: nothing was exported");
  else if (status == QProcess::NormalExit && code == 0)
    Q_EMIT said(firstLine(process_.readAllStandardOutput()));
  else
    Q_EMIT failed(firstLine(process_.readAllStandardError()).remove("ringscope-gui: "));
  Q_EMIT changed();
}

}  // namespace ringscope::viz
