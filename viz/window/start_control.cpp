// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/start_control.h"

#include "traces/format/core/error.h"
#include "viz/window/mistakes_dialog.h"

namespace ringscope::viz {

StartControl::StartControl(const WindowParts& parts, const Targets& targets, bool has_engine,
                           QObject* parent)
    : QObject(parent), parts_(parts), to_(targets), has_engine_(has_engine) {
  StartPage* page = parts.page.start();
  page->setEngine(has_engine);
  connect(page, &StartPage::exploreRequested, this,
          [this] { to_.runs.start(parts_.page.runPanel()->config()); });
  connect(page, &StartPage::recordingRequested, &to_.recordings, &RecordingControl::open);
  connect(page, &StartPage::openRequested, &to_.recordings, &RecordingControl::chooseFile);
  connect(page, &StartPage::listenRequested, this, &StartControl::listen);
  connect(page, &StartPage::mistakesRequested, this, &StartControl::showMistakes);
  connect(&to_.job, &JobLink::changed, this,
          [this, page] { page->setInvitation(to_.job.invitation()); });
}

void StartControl::listen() {
  try {
    to_.jobs.listen({});
  } catch (const Error& error) {
    parts_.page.status()->setProblem(error.what());
  }
}

void StartControl::showMistakes() {
  auto* mistakes = new MistakesDialog(has_engine_, parts_.page.theme(), &parts_.page);
  connect(mistakes, &MistakesDialog::runRequested, &to_.runs, &RunControl::start);
  mistakes->open();
}

}  // namespace ringscope::viz
