// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/beside_control.h"

#include <QFileInfo>

#include "traces/analysis/compare/report.h"
#include "traces/format/trace/trace.h"

namespace ringscope::viz {

void WindowParts::show(const QString& path, RunHold hold) const {
  shown.show(path, std::move(hold));
  page.showStart(false);
  page.stage()->problemCard()->hide();
  page.topBar()->runs()->setRun(path);
  page.stage()->forgetVisited();
  page.status()->clear();
}

BesideControl::BesideControl(const WindowParts& parts, QObject* parent)
    : QObject(parent), parts_(parts) {
  connect(&background_, &Background::failed, this, [this](const QString&, const QString& problem) {
    parts_.page.status()->setProblem(problem);
  });
  connect(&parts.viewing.comparison, &Comparison::besideRequested, this, &BesideControl::showOther);
  connect(parts.page.stage()->compareBar(), &CompareBar::closed, this, &BesideControl::close);
}

void BesideControl::showBefore() {
  Viewing& viewing = parts_.viewing;
  const Cursor cursor = viewing.navigator.cursor();
  parts_.before.session.open(viewing.session.shareTrace(), viewing.session.name(), false);
  parts_.before.navigator.setCursor(cursor);
  parts_.page.stage()->showBeside();
  kept_place_ = cursor.place;
}

void BesideControl::showOther() {
  const auto runs = parts_.viewing.comparison.runs();
  if (!runs) return;
  background_.request(
      "beside",
      [file = parts_.viewing.comparison.otherFile()](const std::stop_token&) {
        file->trace();
        return file;
      },
      [this, runs](const std::shared_ptr<RecordedFile>& file) {
        if (parts_.viewing.comparison.runs() != runs) return;
        Viewing& before = parts_.before;
        before.session.open(
            file->trace(), QFileInfo(QString::fromStdString(file->path())).fileName(), false, file);
        before.session.readTracks();
        before.navigator.setCursor(parts_.viewing.navigator.cursor());
        QStringList settings;
        for (const std::string& setting : traces::describeSettings(runs->comparison))
          settings << QString::fromStdString(setting);
        StageArea* stage = parts_.page.stage();
        stage->showBeside();
        stage->compareBar()->setPair(settings.join(" · "));
        stage->show(viewRegistry().front().name);
      });
}

void BesideControl::close() {
  background_.cancel("beside");
  parts_.page.stage()->hideBeside();
  parts_.before.session.open(std::make_shared<traces::Trace>(), {}, false);
  parts_.page.refreshPanels();
  kept_place_.reset();
  if (parts_.viewing.comparison.before()) parts_.viewing.comparison.close();
}

void BesideControl::keepPlace() {
  if (!kept_place_) return;
  const auto& moments = parts_.viewing.session.trace().moments();
  if (moments.empty() || traces::before(moments.back(), *kept_place_)) return;
  Cursor cursor = parts_.viewing.navigator.cursor();
  cursor.place = *kept_place_;
  cursor.phase = parts_.before.navigator.cursor().phase;
  parts_.viewing.navigator.setCursor(cursor);
  kept_place_.reset();
}

}  // namespace ringscope::viz
