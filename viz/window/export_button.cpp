// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/export_button.h"

#include <QFileDialog>

#include "traces/exchange/export/format.h"
#include "traces/format/core/prose.h"
#include "viz/link/recording_path.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

QString whatWasExported(const QString& output, const traces::Exported& exported) {
  QString said = "exported: " + output;
  for (const auto& [what, count] : exported.counts)
    said += QString(", %1 %2").arg(traces::describeCount(count).c_str(), what.c_str());
  for (const std::string& sentence : exported.left_out)
    said += "; " + QString::fromStdString(sentence);
  return said;
}

}  // namespace

ExportButton::ExportButton(QWidget* parent) : QToolButton(parent), menu_(this), share_(this) {
  setMinimumWidth(86);
  for (const traces::ExportFormat& format : traces::exportFormats()) {
    auto* entry = menu_.addAction(QString("%1 (.%2)").arg(format.name, format.extension));
    entry->setToolTip(format.says);
    connect(entry, &QAction::triggered, this,
            [this, &format] { choose(format.name, format.extension); });
  }
  menu_.addSeparator();
  menu_.addActions(share_.actions());
  connect(&share_, &ShareControl::said, this, &ExportButton::said);
  connect(&share_, &ShareControl::failed, this, &ExportButton::failed);
  connect(&share_, &ShareControl::changed, this, &ExportButton::showState);
  menu_.setToolTipsVisible(true);
  progress_.setInterval(250);
  connect(this, &QToolButton::clicked, this, &ExportButton::press);
  connect(&progress_, &QTimer::timeout, this, [this] {
    Q_EMIT said(QString("exporting to %1: %2 written")
                    .arg(output_, describeBytes(static_cast<std::int64_t>(watch_->bytes)).c_str()));
  });
  connect(&background_, &Background::failed, this, [this](const QString&, const QString& problem) {
    end();
    Q_EMIT failed(problem);
  });
  showState();
}

void ExportButton::setRecording(const QString& path) {
  if (recording_ == path) return;
  recording_ = path;
  share_.setRecording(path);
  showState();
}

void ExportButton::press() {
  if (watch_)
    watch_->stopped = true;
  else if (share_.isRunning())
    share_.stop();
  else if (isEnabled())
    menu_.popup(mapToGlobal(QPoint(0, height())));
}

void ExportButton::showState() {
  setText(isBusy() ? "Stop export" : "Export …");
  setEnabled(isBusy() || !recording_.isEmpty());
  for (QAction* entry : formats()) entry->setEnabled(isEnabled() && !isBusy());
  setToolTip(!isEnabled() ? "A recording can be exported once it is open and whole"
             : isBusy()   ? "Stop; no file will be left"
                          : "Write this recording for other programs (Ctrl+E)");
}

void ExportButton::choose(const QString& format, const QString& extension) {
  const QString output = QFileDialog::getSaveFileName(window(), "Export as " + format,
                                                      proposedOutput(recording_, extension),
                                                      QString("%1 (*.%2)").arg(format, extension));
  if (!output.isEmpty()) begin(format, output);
}

void ExportButton::begin(const QString& format, const QString& output) {
  output_ = output;
  watch_ = std::make_shared<Watch>();
  showState();
  progress_.start();
  background_.request(
      "export",
      [watch = watch_, recording = recording_.toStdString(), format = format.toStdString(),
       output = output.toStdString()](const std::stop_token& stop) {
        return traces::exportTrace(recording, format, output, [&](std::uint64_t bytes) {
          watch->bytes = bytes;
          return !watch->stopped && !stop.stop_requested();
        });
      },
      [this](const traces::Exported& exported) {
        end();
        Q_EMIT said(whatWasExported(output_, exported));
      });
}

void ExportButton::end() {
  progress_.stop();
  watch_.reset();
  showState();
}

}  // namespace ringscope::viz
